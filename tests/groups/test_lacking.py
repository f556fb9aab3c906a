"""Groups of sites that have different variables: what they judge, and that nothing else counts."""

from __future__ import annotations

import csv
import json
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.consensus.votes_of_judges import judged_pairs
from fedbn.data.tables import write_table
from fedbn.errors import ConfigError, FedbnWarning, StructureError
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.random import perturb, random_dag
from fedbn.graphs.writing import write_structure
from fedbn.groups.cut import cut_by_test, cut_into
from fedbn.groups.differences import differences_of
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.grouping import given_groups, group_sites
from fedbn.groups.judged_pairs import pairs_apart
from fedbn.groups.one_population import explained_by_parts
from fedbn.groups.profiles import (
    SiteStructures,
    distances_in_blocks,
    distances_where_both_judge,
    profiles_of,
)
from fedbn.groups.regions import regions_between
from fedbn.groups.size_adjusted import PRECISIONS, beyond_rows
from fedbn.groups.tree import tree_of
from fedbn.networks.catalog import load_network
from fedbn.networks.random import node_names
from fedbn.results.page.groups import groups_content, groups_section
from simulations.cli import app
from simulations.studies.groups.populations import (
    base_network,
    columns_of_sites,
    move_edges,
    tables_of,
)
from tests import naive_groups as naive
from tests import naive_variables as twin
from tests.groups.test_groups import sites_of, two_populations

UNION = GroupFusion(variables="union")
DRAWING = dict.fromkeys(("labels", "boxes", "paths", "size"), ()) | {"box_height": 20}


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_a_pair_is_judged_where_nothing_that_lacks_lies_between(n: int, seed: int) -> None:
    """The twin walks along all paths."""
    rng = np.random.default_rng(seed)
    moral = moral_graph(random_dag(node_names(n), rng=rng, edges=int(rng.integers(0, n))))
    has = rng.random(n) < 0.6
    judged = judged_pairs(has, moral)
    near = [set(np.flatnonzero(row).tolist()) for row in moral]
    for x in range(n):
        for y in range(n):
            assert judged[x, y] == (x != y and naive.judges(x, y, has.tolist(), near))


def random_votes(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Shares, judges and logarithms of rows of some sites."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    judges = rng.random((m, 4)) < 0.7
    shares = np.where(judges, rng.integers(0, 3, size=(m, 4)) / 2, 0.0)
    return shares, judges, np.log(rng.integers(1, 10_000, size=m)), rng


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_what_rows_explain_is_fitted_to_the_judges_alone(seed: int) -> None:
    shares, judges, logs, _ = random_votes(seed)
    left, even = beyond_rows(shares, logs, judges), beyond_rows(shares, np.zeros(len(logs)), judges)
    assert not left[~judges].any()
    assert not even[~judges].any()
    for pair in range(shares.shape[1]):
        own = judges[:, pair]
        if not own.any():
            continue
        column = shares[own, pair]
        assert even[own, pair] == pytest.approx(column - column.mean())
        if np.ptp(logs) > 0:
            expected = naive.expected_shares(column, logs[own], PRECISIONS, centre=logs.mean())
            assert column - left[own, pair] == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 10_000))
def test_pairs_apart_are_sums_over_pairs_of_judges(seed: int) -> None:
    shares, judges, _, rng = random_votes(seed)
    residuals = np.where(judges, shares - rng.random(4), 0.0)
    m = len(shares)
    part = np.arange(m) < rng.integers(1, m)
    found = pairs_apart(residuals, judges, part)
    assert found == pytest.approx(naive.pairs_apart(residuals, judges, part), abs=1e-9)
    everybody, k = np.ones_like(judges), int(part.sum())
    explained = float(explained_by_parts(residuals, part[None])[0]) * m / (k * (m - k))
    assert pairs_apart(residuals, everybody, part) == pytest.approx(explained, abs=1e-9)


def populations(*sizes: int, seed: int = 4) -> list[SiteStructures]:
    """Sites around sparse DAGs that differ by twenty changes; a site by three more of its own."""
    rng = np.random.default_rng(seed)
    first = random_dag(node_names(40), rng=rng, edges=40)
    centres = [first, *(perturb(first, 20, rng=rng) for _ in sizes[1:])]
    dags = [
        perturb(centre, 3, rng=rng)
        for centre, size in zip(centres, sizes, strict=True)
        for _ in range(size)
    ]
    return sites_of(dags, rows=1000)


def lacking(
    entries: list[SiteStructures], share: float, seed: int
) -> tuple[list[SiteStructures], DAG]:
    """The sites without a share of their variables each, and their consensus."""
    rng = np.random.default_rng(seed)
    found = []
    for entry in entries:
        names = entry.dags[0].names
        own = sorted(rng.choice(names, size=round(len(names) * (1 - share)), replace=False))
        found.append(replace(entry, dags=tuple(dag.restrict(own) for dag in entry.dags)))
    return found, UNION(found)


def test_distances_are_over_the_pairs_that_both_judge() -> None:
    entries, whole = lacking(populations(3, 3), 0.2, seed=2)
    profiles = profiles_of(entries, whole)
    assert profiles.judges is not None
    found = distances_where_both_judge(profiles)
    for place, (i, j) in enumerate(combinations(range(6), 2)):
        both = profiles.judges[i] & profiles.judges[j]
        differ = (profiles.shares[i] != profiles.shares[j])[both].sum()
        assert found[place] == pytest.approx(differ * len(both) / both.sum())
    alone = replace(profiles, judges=np.eye(6, len(profiles.pairs), dtype=np.bool_))
    assert not distances_where_both_judge(alone).any()


def test_regions_are_of_pairs_that_both_sides_judge() -> None:
    pairs = np.array([[0, 1], [1, 2], [4, 5]])
    shares, part = np.array([[1.0, 0, 1], [0, 1, 0]]), np.array([True, False])
    judges = np.ones((2, 3), dtype=np.bool_)
    assert regions_between(shares, pairs, part, judges) == regions_between(shares, pairs, part) == 2
    judges[1, 2] = False
    assert regions_between(shares, pairs, part, judges) == 1


def test_with_the_same_variables_nothing_is_different() -> None:
    entries = two_populations((4, 4), seed=3)
    alone, beside = profiles_of(entries), profiles_of(entries, entries[0].dags[0])
    assert beside.judges is None
    assert np.array_equal(alone.shares, beside.shares)
    assert np.array_equal(tree_of(alone).linkage, tree_of(beside).linkage)
    assert distances_in_blocks(alone.shares).shape == (28,)


def chains(count: int, kinds: int) -> tuple[list[SiteStructures], DAG]:
    """Ten alike sites of chains x -> m -> y, of two kinds that lack other middles: as every site
    rightly sees them; and the truth."""
    edges = [(f"{a}{i:02}", f"{b}{i:02}") for i in range(count) for a, b in ("xm", "my")]
    names = sorted({name for edge in edges for name in edge})
    rng, dags = np.random.default_rng(0), []
    for site in range(10):
        gone = {f"m{i:02}" for i in range(count) if i % kinds == site % kinds}
        own = [name for name in names if name not in gone]
        seen = [(a, b) for a, b in edges if not {a, b} & gone]
        seen += [(f"x{name[1:]}", f"y{name[1:]}") for name in sorted(gone)]
        kept = [edge for edge in seen if rng.random() > 0.1]
        dags.append(DAG.from_edges(own, kept))
    return sites_of(dags, rows=1000), DAG.from_edges(names, edges)


def test_alike_sites_of_two_kinds_are_one_population() -> None:
    """Which they are not if a site judges every pair that it has."""
    entries, truth = chains(24, 2)
    having = cut_by_test(tree_of(profiles_of(entries, DAG.empty(truth.names))))
    assert Counter(having.groups) == {0: 5, 1: 5}
    for whole in (truth, UNION(entries)):
        assert set(cut_by_test(tree_of(profiles_of(entries, whole))).groups) == {0}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_populations_are_found_though_sites_lack_variables(seed: int) -> None:
    entries, whole = lacking(populations(6, 5), 0.2, seed)
    assert cut_by_test(tree_of(profiles_of(entries, whole))).groups == (0,) * 6 + (1,) * 5


def test_sites_that_judge_no_pair_in_common_cannot_be_said_to_differ() -> None:
    rng = np.random.default_rng(5)
    dags = []
    for site in range(8):
        names = [f"{'uv'[site % 2]}{k}" for k in range(8)]
        dags.append(random_dag(names, rng=rng, edges=10))
    entries = sites_of(dags, rows=500)
    cut = cut_by_test(tree_of(profiles_of(entries, UNION(entries))))
    assert all(not split.made for split in cut.splits)


def test_the_order_of_sites_and_names_does_not_matter() -> None:
    entries, whole = lacking(populations(6, 5), 0.2, seed=0)
    there = group_sites(entries, "auto", UNION, whole)
    turned = [
        replace(entry, dags=tuple(dag.reorder(dag.names[::-1]) for dag in entry.dags))
        for entry in entries[::-1]
    ]
    back = group_sites(turned, "auto", UNION, whole)
    assert there.count == 2
    assert there.cut == back.cut
    assert there.consensuses == back.consensuses
    assert there.differences == back.differences


def test_without_rows_nothing_is_tested_and_a_number_is_taken() -> None:
    entries, whole = lacking(populations(6, 5), 0.2, seed=0)
    silent = [replace(entry, rows=None) for entry in entries]
    found = group_sites(silent, "auto", UNION, whole)
    assert found.count == 1
    assert found.cut.splits == ()
    assert "all must tell their numbers of rows" in found.lines()[1]
    tree = tree_of(profiles_of(silent, whole))
    assert cut_into(tree, 2).groups == (0,) * 6 + (1,) * 5


def test_several_structures_are_compared_by_their_shares() -> None:
    entries, _ = lacking(populations(6, 5), 0.2, seed=0)
    half = (Fraction(1, 2),) * 2
    several = [replace(entry, dags=entry.dags * 2, shares=half) for entry in entries]
    whole = UNION(several)
    cut = cut_by_test(tree_of(profiles_of(several, whole)))
    assert not any(split.redrawn for split in cut.splits)
    assert cut.groups == cut_by_test(tree_of(profiles_of(entries, whole))).groups


def test_who_lacks_a_variable_has_no_vote_on_a_difference() -> None:
    abc = [DAG.from_edges("abc", edges) for edges in (["ab", "bc"], ["ab"])]
    lacks = DAG.from_edges("ab", ["ab"])
    entries = sites_of([abc[0], abc[0], lacks, abc[1], abc[1], lacks])
    (one,) = differences_of((0, 0, 0, 1, 1, 1), entries, abc)
    assert (one.variable, one.second) == ("b", "c")
    assert (one.votes, one.sites, one.other_votes, one.other_sites) == (2, 2, 0, 2)
    alone = sites_of([abc[0], abc[0], lacks, lacks])
    assert differences_of((0, 0, 1, 1), alone, [abc[0], abc[1]]) == ()


def test_the_report_draws_pairs_that_a_group_cannot_know_as_such() -> None:
    abc, bcd = (DAG.from_edges(names, [names[:2], names[1:]]) for names in ("abc", "bcd"))
    entries = sites_of([abc, abc, bcd, bcd])
    given = {entry.site: f"group {place // 2}" for place, entry in enumerate(entries)}
    content = groups_content(given_groups(entries, given, UNION, UNION(entries)), DRAWING)
    codes = {
        f"{'abcd'[i]}{'abcd'[j]}": of_groups
        for (i, j), *of_groups in zip(content["pairs"], *content["codes"], strict=True)
    }
    assert codes == {"ab": [3, 4], "bc": [3, 3], "cd": [4, 3]}
    assert "Faint dots: no site of one of the groups" in groups_section(content)
    alike = given_groups(sites_of([abc] * 4), given, UNION)
    assert "Faint" not in groups_section(groups_content(alike, DRAWING))


def test_other_variables_than_those_of_the_consensus_are_refused() -> None:
    entries = sites_of([DAG.empty("ab"), DAG.empty("bc")])
    with pytest.raises(StructureError, match="all sites must have the same variables"):
        profiles_of(entries)
    with pytest.raises(StructureError, match="'c' must be one of the variables"):
        profiles_of(entries, DAG.empty("ab"))
    with pytest.raises(ConfigError, match="use aggregation = open, or give them"):
        ConsensusSettings(variables="union", groups="auto", aggregation="secure-sums")


# --- the commands -------------------------------------------------------------------------------


def command(*arguments: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_fuse_finds_groups_of_structures_with_different_variables(tmp_path: Path) -> None:
    entries, _ = lacking(populations(6, 5), 0.2, seed=0)
    for entry in entries:
        write_structure(entry.dags[0], tmp_path / f"{entry.site}.json")
    files = sorted(map(str, tmp_path.glob("s*.json")))
    out = tmp_path / "out"
    rows = ",".join(["1000"] * len(files))
    wanted = ("--variables", "union", "--groups", "auto", "--site-rows", rows)
    said = command("fuse", *files, *wanted, "--out", str(out))
    assert "2 groups of 11 sites" in said
    with (out / "groups.csv").open(encoding="utf-8") as file:
        assert [row["group"] for row in csv.DictReader(file)] == ["1"] * 6 + ["2"] * 5
    with (out / "differences.csv").open(encoding="utf-8") as file:
        told = list(csv.DictReader(file))
    assert told
    assert all(int(row["sites"]) <= 6 and int(row["other_sites"]) <= 5 for row in told)
    own = json.loads((out / "groups" / "group-2.json").read_text(encoding="utf-8"))
    alone = UNION(entries[6:])
    assert {tuple(edge) for edge in own["edges"]} == set(alone.edges)


@pytest.mark.slow
def test_a_run_counts_and_estimates_in_every_group(tmp_path: Path) -> None:
    """The second group has nobody with xray; each is as if its sites had run alone."""
    rng = np.random.default_rng(3)
    asia = base_network("asia", rng)
    tables, _ = tables_of((asia, move_edges(asia, 4, rng)), (3, 3), (700,) * 6, rng)
    sites = []
    for i, table in enumerate(tables):
        gone = {"xray"} if i > 2 else {("tub", "smoke", "bronc")[i]}
        write_table(table.select([n for n in table.names if n not in gone]), tmp_path / f"s{i}.csv")
        sites.append(str(tmp_path / f"s{i}.csv"))
    names = tmp_path / "groups.csv"
    names.write_text("site,group\n" + "".join(f"s{i},{'ab'[i // 3]}\n" for i in range(6)))
    fixed = ["--engine", "in-process", "--no-pooled", "--parameters", "federated", "--choose"]
    fixed += ["counts", "--variables", "union", "--set", "share-diagnostics=true"]
    groups = ["--set", f"groups-file={names}", "--out", str(tmp_path / "out")]
    command("simulate", "--sites", *sites, *fixed, *groups)
    command("simulate", "--sites", *sites[3:], *fixed, "--out", str(tmp_path / "alone"))
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["groups"] == [["s0", "s1", "s2"], ["s3", "s4", "s5"]]
    own = json.loads((tmp_path / "out/groups/group-2.json").read_text(encoding="utf-8"))
    alone = json.loads((tmp_path / "alone/consensus.json").read_text(encoding="utf-8"))
    assert own["edges"] == alone["edges"]
    assert "xray" in own["nodes"]
    assert "xray" not in alone["nodes"]
    there = json.loads((tmp_path / "out/groups/network-2.json").read_text(encoding="utf-8"))
    assert there == json.loads((tmp_path / "alone/network.json").read_text(encoding="utf-8"))


def test_groups_keep_what_is_known_among_their_variables(tmp_path: Path) -> None:
    """By structures and by counts. An edge of a variable that a group lacks is not for it."""
    asia, rng, known = load_network("asia"), np.random.default_rng(2), tmp_path / "known.toml"
    known.write_text(
        'required = [["asia", "tub"]]\nforbidden = [["bronc", "smoke"]]\n'
        'tiers = [["asia", "smoke"], ["lung", "xray"]]\n'
    )
    kinds = (["asia", "lung", "tub", "xray"], ["bronc", "lung", "smoke", "xray"])
    sites = [str(tmp_path / f"s{i}.csv") for i in range(4)]
    for i, path in enumerate(sites):
        write_table(asia.sample(500, rng).select(kinds[i // 2]), Path(path))
    names = tmp_path / "groups.csv"
    names.write_text("site,group\n" + "".join(f"s{i},{'ab'[i // 2]}\n" for i in range(4)))
    for choose in ("smhd", "counts"):
        out = tmp_path / choose
        wanted = ["--variables", "union", "--knowledge", str(known), "--choose", choose]
        wanted += ["--set", f"groups-file={names}", "--engine", "in-process", "--out", str(out)]
        command("simulate", "--sites", *sites, *wanted)
        first, second, core = (
            {tuple(edge) for edge in json.loads((out / "groups" / file).read_text())["edges"]}
            for file in ("group-1.json", "group-2.json", "core.json")
        )
        assert ("asia", "tub") in first
        assert all("asia" not in edge for edge in second | core)
        assert ("smoke", "bronc") in second


@pytest.mark.parametrize("pattern", ["random-20", "panels-20", "kinds-20", "halves-20"])
def test_the_study_s_sites_lack_a_fifth(pattern: str) -> None:
    network = base_network("child", np.random.default_rng(0))
    has = columns_of_sites(pattern, network, 10, np.random.default_rng(1))
    assert has.shape == (10, 20)
    assert has.any(axis=0).all()
    assert 0.15 < 1 - has.mean() < 0.25
    kinds = {"kinds": 3, "halves": 2}.get(pattern.split("-")[0], 0)
    assert not kinds or len(np.unique(has, axis=0)) == kinds


def test_groups_choose_once_where_counts_choose() -> None:
    sites = twin.random_sites(np.random.default_rng(1), 6, 5, 0.4, 0.6)
    dags, _ = twin.given(sites, 6)
    one = Fraction(1)
    sent = [SiteStructures(f"site {k}", (dag,), (one,)) for k, dag in enumerate(dags)]
    paths = mcbnc_paths(dags, poolings=poolings_of("best"), variables="union")
    once, judged = (select_among(paths, by_judges=judges)[1].dag for judges in (False, True))
    assert once != judged
    assert replace(UNION, by_judges=False)(sent) == once
    assert UNION(sent) == judged
