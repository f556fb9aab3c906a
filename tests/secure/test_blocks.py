"""Sites that answer for different columns under masks: the same consensus as in the open, blocks of
a minimum size, and what a site refuses."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import prefer, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.consensus.votes import lower_bound, moral_votes_of
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, PolicyError
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.secure.answers import answer
from fedbn.secure.blocks import Answering, Columns, blocks_of
from fedbn.secure.masks import Key
from fedbn.secure.path import secure_path, secure_votes
from fedbn.secure.selection import secure_consensus
from fedbn.secure.session import Member, Terms, require_cohort, signed_key
from fedbn.secure.site import Site, begin, join
from simulations.benchmarks.secure_sums import masked_run
from tests.naive_variables import can_form_blocks, greedy_blocks, judges, names_of, random_sites
from tests.naive_variables import given as as_dags
from tests.secure.test_secure_path import require_equal_choice
from tests.secure.test_site import identity

NAMES = names_of(5)


def driven(search, dags: list[DAG], columns: Columns | None):
    """The end of a search whose sums are made in the open, of one DAG a site."""
    try:
        request = next(search)
        while True:
            parts = [answer(request, [dag], [1], columns, i) for i, dag in enumerate(dags)]
            request = search.send(np.sum(parts, axis=0))
    except StopIteration as end:
        return end.value


@given(
    seed=st.integers(0, 100_000),
    look_ahead=st.sampled_from([0, 3]),
    least=st.integers(1, 3),
    quorum=st.integers(1, 2),
)
@settings(max_examples=60, deadline=None)
def test_the_consensus_is_that_of_the_open_run(
    seed: int, look_ahead: int, least: int, quorum: int
) -> None:
    """Whatever columns the sites have: order, G+, every deletion with S, and what is chosen."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    sites = random_sites(rng, n, r, 0.3, 0.5)
    dags, _ = as_dags(sites, n)
    columns = Columns.of([site.nodes for site in sites], n, least)
    whole = [dag.extend(names_of(n)) for dag in dags]
    search = secure_path(
        names_of(n), r, 1, look_ahead=look_ahead, columns=columns, quorum=min(quorum, r)
    )
    path = driven(search, whole, columns)
    plain = mcbnc_paths(dags, variables="union", min_judges=least, quorum=min(quorum, r))
    for branch, other in zip(path.branches, plain, strict=True):
        assert (branch.order, branch.union) == (other.order, other.union)
        assert branch.steps == other.steps
        assert [step.given for step in branch.steps] == [step.given for step in other.steps]
    if columns is not None:
        require_equal_choice(secure_consensus(path), prefer(plain, select_consensus))
    votes = driven(secure_votes(names_of(n), r, 1, columns), whole, columns)
    merged = merge_inputs(dags, None, "union")
    moral = votes.matrix(votes.moral)
    assert np.array_equal(moral, moral_votes_of(merged) * int(merged.unit))
    assert lower_bound(votes) == lower_bound(path.votes)


def test_a_judged_vote_is_not_looked_for() -> None:
    """It takes cuts in the vote, which no sum is asked for; the open run takes it here."""
    rng = np.random.default_rng(50)
    n, r = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    sites = random_sites(rng, n, r, 0.4, 0.6)
    dags, _ = as_dags(sites, n)
    columns = Columns.of([site.nodes for site in sites], n, 1)
    whole = [dag.extend(names_of(n)) for dag in dags]
    path = driven(secure_path(names_of(n), r, 1, columns=columns), whole, columns)
    plain = mcbnc_paths(dags, variables="union")
    summed = secure_consensus(path)
    require_equal_choice(summed, prefer(plain, select_consensus))
    opened = select_among(plain, by_judges=False)[1]
    assert opened.reading == "vote"
    assert opened.mean_smhd < summed[1].mean_smhd


@given(seed=st.integers(0, 100_000), least=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_judges_are_those_of_the_twin(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    sites = random_sites(rng, 5, 6, 0.4, 0.5)
    columns = Columns.of([site.nodes for site in sites], 5, least)
    if columns is None:
        return
    questions = [
        (x, y, set(s))
        for x, y in combinations(range(5), 2)
        for size in range(4)
        for s in combinations(sorted(set(range(5)) - {x, y}), size)
    ]
    xy = np.array([(x, y) for x, y, _ in questions])
    bits = np.array([[sum(1 << v for v in s)] for _, _, s in questions], dtype=np.uint64)
    for number, (x, y, s) in enumerate(questions):
        wanted = {site.owner for site in judges(sites, x, y, s, least)}
        found = {i for i in range(6) if columns.is_judge(i, xy, bits)[number]}
        assert found == wanted
        assert columns.judges(xy, bits)[number] == len(wanted)


def named(columns: list[frozenset[int]]) -> dict[str, frozenset[int]]:
    return {f"s{i:02}": own for i, own in enumerate(columns)}


def blocks_or_none(columns: list[frozenset[int]], least: int) -> list[frozenset[int]] | None:
    try:
        found = blocks_of(named(columns), least)
    except ConfigError:
        return None
    return [found[site] for site in named(columns)]


def require_blocks(columns: list[frozenset[int]], least: int) -> bool:
    """Whether there are blocks, which are what they must be: exactly where any division gives them,
    and those of the greedy rule where that has any."""
    found, greedy = blocks_or_none(columns, least), greedy_blocks(columns, least)
    assert (found is not None) == can_form_blocks(columns, least)
    if found is None:
        return False
    assert greedy in (None, found)
    assert all(found)
    assert all(shared <= own for shared, own in zip(found, columns, strict=True))
    assert min(map(found.count, found)) >= least
    if min(map(columns.count, columns)) >= least:
        assert found == columns
    return True


@given(
    distinct=st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=6, unique=True),
    more=st.lists(st.integers(0, 5), max_size=5),
    least=st.integers(1, 5),
    rng=st.randoms(use_true_random=False),
)
@settings(max_examples=200, deadline=None)
def test_sites_are_refused_exactly_where_no_division_gives_blocks(
    distinct: list[frozenset[int]], more: list[int], least: int, rng: random.Random
) -> None:
    columns = [*distinct, *(distinct[k % len(distinct)] for k in more)]
    require_blocks(columns, least)
    shuffled = list(named(columns).items())
    rng.shuffle(shuffled)
    try:
        found = blocks_of(named(columns), least)
    except ConfigError as error:
        with pytest.raises(ConfigError, match=re.escape(str(error))):
            blocks_of(dict(shuffled), least)
    else:
        assert blocks_of(dict(shuffled), least) == found


def random_columns(seed: int) -> list[frozenset[int]]:
    """Of five to seven sites, of each of six columns with probability 0.4."""
    rng = np.random.default_rng(seed)
    own = rng.random((int(rng.integers(5, 8)), 6)) < 0.4
    return [frozenset(np.flatnonzero(has).tolist()) for has in own]


def test_many_sites_get_blocks_that_the_greedy_rule_refuses() -> None:
    """So that what is said of those that are served is said of many."""
    cases = [random_columns(seed) for seed in range(300)]
    served = [columns for columns in cases if require_blocks(columns, 2)]
    greedily = [columns for columns in cases if greedy_blocks(columns, 2) is not None]
    assert len(served) > 180
    assert len(served) - len(greedily) > 40


def test_a_union_that_helps_nobody_is_undone() -> None:
    """a goes best with b, as two columns are left; but then nobody is left for d."""
    columns = {
        "a": frozenset({0, 1}),
        "b": frozenset({0, 1, 2}),
        "c": frozenset({0, 3}),
        "d": frozenset({2}),
    }
    assert greedy_blocks(list(columns.values()), 2) is None
    found = blocks_of(columns, 2)
    assert found == dict.fromkeys("ac", frozenset({0})) | dict.fromkeys("bd", frozenset({2}))


def test_sites_that_cannot_form_blocks_are_told_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = {"a": frozenset({"x", "y"}), "b": frozenset({"z"}), "c": frozenset({"z"})}
    with pytest.raises(ConfigError, match=r"none of the columns of 'a' \('x', 'y'\) is at 2 sites"):
        blocks_of(alone, 2)
    assert blocks_of(alone, 1) == alone
    with pytest.raises(ConfigError, match="at least 4 sites .* but there are 3"):
        blocks_of(alone, 4)
    chain = {"a": frozenset({"x"}), "b": frozenset({"x", "y"}), "c": frozenset({"y"})}
    words = (
        r"into blocks of at least 2 sites \(min-alike\) that have a column in common; the first "
        r"attempt left fewer than 2 sites for each column of 'c' \('y'\): leave some sites out"
    )
    with pytest.raises(ConfigError, match=f"^the sites cannot be divided {words}"):
        blocks_of(chain, 2)
    monkeypatch.setattr("fedbn.secure.blocks.MOST_TRIES", 1)
    with pytest.raises(
        ConfigError, match=f"^1 tries did not show whether the sites can .* {words}"
    ):
        blocks_of(chain, 2)


def sites_of(columns: list[tuple[int, ...]]) -> list[Site]:
    rng = np.random.default_rng(3)
    truth = random_dag(NAMES, edges=6, rng=rng)
    found = []
    for own in columns:
        some = [NAMES[v] for v in own]
        dag = marginal_imap(truth, some).extend(NAMES)
        found.append(begin([dag], [1.0], own=some))
    return found


def terms_of(sites: list[Site], columns: list[tuple[int, ...]]) -> Terms:
    members = tuple(Member(f"site {i}", site.key.public.hex()) for i, site in enumerate(sites))
    return Terms(
        run="1",
        schema="00" * 32,
        aggregation="secure-sums",
        units=1,
        k_max=10,
        quorum=1,
        poolings=("mean", "clip"),
        members=members,
        columns=tuple(columns),
    )


HAVE = [(0, 1, 2, 3, 4)] * 2 + [(0, 1, 2), (0, 1, 2, 3)]
ANSWER = [(0, 1, 2, 3, 4)] * 2 + [(0, 1, 2)] * 2


def test_under_masks_a_site_answers_for_the_columns_of_its_block() -> None:
    """What it has beyond them leaves its structure as a marginal does, and no other way."""
    sites = sites_of(HAVE)
    terms = terms_of(sites, ANSWER)
    assert Terms.from_text(terms.to_text()) == terms
    joined = [join(site, terms) for site in sites]
    columns = Columns.of(ANSWER, 5, 1)
    path, _ = masked_run(secure_path(NAMES, 4, 1, columns=columns), joined)
    some = [
        marginal_imap(site.dags[0].restrict([NAMES[v] for v in have]), [NAMES[v] for v in asked])
        for site, have, asked in zip(sites, HAVE, ANSWER, strict=True)
    ]
    plain = mcbnc_paths(some, variables="union")
    assert [b.steps for b in path.branches] == [other.steps for other in plain]
    require_equal_choice(secure_consensus(path), prefer(plain, select_consensus))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([(0, 1, 2, 3, 4)] * 3 + [(0, 1, 2)], "a column that it lacks"),
        ([(0, 1, 2, 3, 4, 9)] * 4, "one that is not agreed"),
        ([(0, 1, 2, 3, 4), (0, 9), *[(0, 1, 2)] * 2], "one that is not agreed"),
        ([(0, 1, 2, 3, 4), (), *[(0, 1, 2)] * 2], "for no column"),
        ([], "not as it was asked"),
    ],
)
def test_a_site_refuses_terms_that_are_not_its_own(
    columns: list[tuple[int, ...]], words: str
) -> None:
    sites = sites_of(HAVE)
    with pytest.raises(PolicyError, match=words):
        join(sites[2], terms_of(sites, columns))


def test_the_company_of_a_site_are_those_with_its_columns() -> None:
    sites = sites_of(HAVE)
    own = sites[2].key.public
    terms = terms_of(sites, ANSWER)
    require_cohort(terms, own, min_cohort=2, peers=None)
    with pytest.raises(PolicyError, match="2 sites with these columns, at least 3 wanted"):
        require_cohort(terms, own, min_cohort=3, peers=None)
    with pytest.raises(PolicyError, match="1 site with these columns"):
        require_cohort(terms_of(sites, HAVE), own, min_cohort=2, peers=None)
    before = [frozenset({"site 2", "site 1"})]
    with pytest.raises(PolicyError, match="an earlier cohort differs by site 1"):
        require_cohort(terms, own, min_cohort=2, peers=None, earlier=before)
    whole = [frozenset(f"site {i}" for i in range(4))]
    require_cohort(terms, own, min_cohort=2, peers=None, earlier=whole)


def test_no_name_is_twice_in_a_roster_whatever_the_columns() -> None:
    """Else a server gives one site two invented peers with the names of real ones, whose keys come
    first and which alone have its columns, and hears the site by itself."""
    peers = {name: identity(i) for i, name in enumerate("ABCDEF")}
    keys = {name: Key(bytes([i + 1]) * 32) for i, name in enumerate(peers)}
    signed = {
        name: Member(
            name, key.public.hex(), signed_key(peers[name][0], "1", name, key.public).hex()
        )
        for name, key in keys.items()
    }
    others = {name: public for name, (_, public) in peers.items() if name != "A"}

    def accepts(told: dict[Member, tuple[int, ...]], known: dict[str, str] | None) -> None:
        members = sorted(told, key=lambda member: (member.name, member.public))
        plain = replace(terms_of(sites_of(HAVE), []), members=tuple(members))
        terms = replace(plain, columns=tuple(told[member] for member in members))
        terms = Terms.from_text(terms.to_text())
        require_cohort(terms, keys["A"].public, min_cohort=3, peers=known)

    def columns(member: Member) -> tuple[int, ...]:
        return (0, 1) if member.name in "ABC" else (1, 2)

    accepts({member: columns(member) for member in signed.values()}, others)
    invented = [
        replace(signed[name], public=f"{number:064x}", signature="")
        for number, name in enumerate("BC")
    ]
    isolated = dict.fromkeys(signed.values(), (1, 2))
    isolated |= dict.fromkeys([signed["A"], *invented], (0, 1))
    for known in (others, None):
        with pytest.raises(PolicyError, match="'B' is in the roster more than once"):
            accepts(isolated, known)
    replaced = {m: (0, 1) for name, m in signed.items() if name not in "BC"}
    with pytest.raises(PolicyError, match="the key of 'B' is not signed"):
        accepts(replaced | dict.fromkeys(invented, (0, 1)), others)


def test_columns_of_the_terms_are_sorted_and_of_all_members() -> None:
    terms = terms_of(sites_of(HAVE), ANSWER)
    for wrong in (((1, 0),) * 4, ((0,),), ((-1, 0),) * 4):
        with pytest.raises(ValueError, match="canonical|well formed"):
            Terms.from_text(replace(terms, columns=wrong).to_text())


def test_the_columns_of_a_block_are_read_once_for_all_families() -> None:
    reads: list[int] = []

    class Own(tuple):
        def __iter__(self):
            reads.append(len(self))
            return super().__iter__()

    schema = Schema.gaussian("abcd")
    among = Answering(schema, (Own(range(4)), Own(range(3)), Own(range(3))))
    every, some = ((0, 1, 2, 3), 1), ((0, 1, 2), 2)
    assert among.having((0, 3)) == (every,)
    once = len(reads)
    assert among.having((0, 1)) == (some, every)
    assert among.having(()) == (some, every)
    assert len(reads) == once
