"""The settings of one federated run, in groups.

A function takes the group that it uses. `fedbn.federation.run_config` has the flat form that Flower
carries; every setting is said once, by its field (`fedbn.setting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from fedbn.data.table_settings import TableSettings
from fedbn.federation.reply_limits import Limits
from fedbn.fusion.inputs import VARIABLES
from fedbn.graphs.knowledge import Knowledge, is_text, read_knowledge
from fedbn.groups.requested import requested_groups
from fedbn.learners.settings import LearnerSettings
from fedbn.secure.guesses_ahead import MAX_CHAIN
from fedbn.setting import (
    Setting,
    Settings,
    at_least,
    between,
    finite_at_least,
    one_of,
    positive,
    positive_and_finite,
    refuse,
    setting,
    settings_of,
)

DAY = 24 * 3600.0
ENGINES = ("flower", "in-process")
ROBUST = ("best", "mean", "clip", "median")
AGGREGATIONS = ("open", "secure-sums", "moral-votes")
OVER_UNION = ("mcbnc", "union", "intersection", "vote", "median")
"""Fusions of structures over different variables."""


@dataclass(frozen=True)
class DataSettings(Settings):
    """Whose tables are learned from: at most one of `network`, `table`, `sites` and `sites_dir`.

    None of them in a deployment, where each node's own configuration says where its table is.
    """

    network: str | None = setting(
        None, "A network to sample tables from: a name (see `fedbn networks`) or a file."
    )
    table: str | None = setting(None, "One table, whose rows are divided over the clients.")
    sites: tuple[str, ...] = setting(
        (), "Tables of the clients, one each: --sites a.csv b.csv.", shown="none"
    )
    sites_dir: str | None = setting(
        None, "Folder whose tables, sorted by name, are the clients' own."
    )
    rows: int = setting(5000, "Rows per client, on average, with --network.", at_least(1))
    clients: int = setting(10, "Number of clients, with --network or --table.", at_least(1))
    partition: str = setting(
        "iid",
        "How rows are divided among clients: iid; dirichlet (unevenly over the values of the "
        "partition column); dirichlet-latent (unevenly over latent clusters); column (one client "
        "per value).",
        one_of("iid", "dirichlet", "dirichlet-latent", "column"),
    )
    partition_column: str | None = setting(
        None, "The column for --partition dirichlet and --partition column."
    )
    alpha: float = setting(
        0.5,
        "Dirichlet concentration of the partition. The smaller it is, the more sites differ.",
        positive,
    )
    sizes: str = setting("equal", "Table sizes: equal or skewed.", one_of("equal", "skewed"))
    site_parameters: float | None = setting(
        None,
        "Give every site probability tables of its own: each row of such a table is drawn from a "
        "Dirichlet distribution around the network's row, with this concentration. The smaller it "
        "is, the more sites differ.",
        positive_and_finite,
        shown="the same tables",
    )
    missing_variables: float = setting(
        0.0,
        "Every client lacks this share of the variables, drawn at random; at least one client "
        "keeps each variable. With --variables union.",
        between(0, 1),
    )
    missing_blocks: int | None = setting(
        None,
        "Number of panels (sets of variables) into which the variables are divided at random. "
        "--missing-variables is then the share of whole panels that a client lacks.",
        at_least(2),
    )
    missing_hubs: bool = setting(
        False,
        "Variables with many neighbours in the sampled network are missing more often than others.",
    )
    schema: str | None = setting(
        None, "File with the agreed columns and states. A table with other ones is refused."
    )
    test_rows: int = setting(
        0, "Number of held-out rows on which clients and consensus are scored.", at_least(0)
    )
    network_dir: str | None = setting(
        None, "Folder with more networks, NAME.bif[.gz] or NAME.json[.gz]."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name, value in self.sources().items() if value]
        share, blocks, hubs = self.missing_variables, self.missing_blocks, self.missing_hubs
        divided = self.partition in ("dirichlet", "column")
        sampled = self.network is not None and self.partition == "iid"
        wrong = {
            f"the data must come from one place, but {' and '.join(given)} are given": (
                len(given) > 1
            ),
            f"partition {self.partition!r} needs a partition-column: the column that rows are "
            "divided by": divided and self.partition_column is None,
            "site-parameters needs a network to sample tables from, and partition iid": (
                self.site_parameters is not None and not sampled
            ),
            "missing-blocks and missing-hubs need the share of missing variables "
            "(missing-variables)": share == 0 and (blocks is not None or hubs),
            "missing-variables must be below 1: every client needs a variable": share == 1,
            "missing-variables is for --network and --table, which are divided": (
                share > 0 and not (self.network or self.table)
            ),
            "missing-hubs needs a network: hubs have many neighbours in it": (
                hubs and self.network is None
            ),
            "missing-blocks and missing-hubs exclude each other": hubs and blocks is not None,
        }
        refuse(wrong)

    def sources(self) -> Mapping[str, object]:
        """Key -> value of the settings that name the data."""
        return {
            "network": self.network,
            "table": self.table,
            "sites": self.sites,
            "sites-dir": self.sites_dir,
        }

    @property
    def is_named(self) -> bool:
        """Whether the settings say where the data come from."""
        return any(self.sources().values())

    @property
    def client_count(self) -> int | None:
        """How many clients they make; 0 if only the data tell, None in a deployment."""
        if self.sites:
            return len(self.sites)
        if self.network or self.table:
            return 0 if self.partition == "column" else self.clients
        return 0 if self.sites_dir else None


@dataclass(frozen=True)
class ConsensusSettings(Settings):
    """How the server turns replies into a consensus."""

    reading: str = setting(
        "best",
        "How a state of the path (the fused graph after some deletions) becomes a structure: "
        "search (as the search left it), refusion (the inputs as pruned by these deletions, fused "
        "again, as in the paper's figures), or the better of both (best). With best, structures "
        "far from what the others agree on are ignored.",
        one_of("best", "search", "refusion"),
    )
    fusion: str = setting(
        "mcbnc",
        "How structures are fused: mcbnc; for comparison union, intersection, vote, median, "
        "genetic-union, genetic-inputs (they have no path and no θ); or a registered fusion.",
    )
    own: tuple[str, ...] = setting(
        (),
        "Settings of a registered fusion, KEY=VALUE each; --NAME-KEY sets one as well.",
        key="fusion-settings",
        shown="none",
    )
    robust: str = setting(
        "best",
        "How the clients' minimum cuts become one criticality of an edge: mean (as in the paper), "
        "clip (each cut counts at most 1, against hostile clients), median, or the better result "
        "of mean and clip (best).",
        one_of(*ROBUST),
    )
    choose: str = setting(
        "smhd",
        "What the consensus is chosen by: smhd (structures alone); counts (exact counts of some "
        "families, summed over the sites, whose policies must allow it; for tables with numbers "
        "sums of products about each site's means, scored by mixed BIC whatever the run's score); "
        "climb (counts, then a search with further rounds of counts; with numbers it needs no "
        "further request). Choosing ends at consensus-seconds.",
        one_of("smhd", "counts", "climb"),
    )
    groups: str = setting(
        "no",
        "Groups of sites, each with a consensus of its own: no, auto (as many as a test finds) or "
        "their number. Not under secure sums: sums do not show which sites differ. With variables "
        "= union, auto tests only if all sites report their numbers of rows (share-diagnostics).",
    )
    groups_file: str | None = setting(
        None,
        "The groups, where they are known: a CSV file with the columns site and group, which the "
        "server reads. Every site of the run must be in it. Under secure sums each group is a "
        "cohort of its own: no sum is over two groups, and a site's min-cohort counts its group "
        "(with variables = union its block within the group).",
    )
    count_rounds: int = setting(
        10, "Maximum number of further requests of --choose climb.", at_least(0)
    )
    site_column: str | None = setting(
        None,
        "A column that is constant within every site and differs between sites. With --choose "
        "counts or climb, its edges become candidates, and no other differences between sites are "
        "modelled.",
    )
    variables: str = setting(
        "same",
        "Which columns sites have. same: every site must have the agreed columns; union: sites may "
        "have different ones, and a site that lacks a column has no vote on its edges "
        "(docs/different-variables.md).",
        one_of(*VARIABLES),
    )
    min_sites: int = setting(
        1,
        "With variables = union: minimum number of sites that must have each column.",
        at_least(1),
    )
    min_judges: int = setting(
        1,
        "With variables = union: minimum number of sites that judge whether a set of columns "
        "separates two others. Where fewer sites have the whole set, sites that have a part of it "
        "judge as well. With --choose counts or climb, moves with fewer judges are not made.",
        at_least(1),
    )
    min_alike: int = setting(
        3,
        "Secure sums with variables = union: minimum number of sites in a block. All sites of a "
        "block answer for the same columns: those that each of them has. A site's own min-cohort "
        "counts its block.",
        at_least(1),
    )
    k_max: int = setting(
        10,
        "Maximum size of the set H of a deletion: the neighbours that it turns into children.",
        at_least(0),
    )
    quorum: int = setting(
        1,
        "Keep an arc in the fusion only if at least this many structures have it; above 1 the "
        "fusion is no longer the union. For hundreds of sites with rare arcs of their own. Secure "
        "sums have vote-quorum instead.",
        at_least(1),
    )
    max_treewidth: int | None = setting(
        None,
        "Maximum treewidth of the consensus, so that exact inference stays possible. θ is chosen "
        "among the structures within it. If that excludes the structure that would be chosen "
        "otherwise, single edges of the chosen one are then changed within it.",
        at_least(0),
        shown="no limit",
    )
    min_replies: int = setting(
        1, "Minimum number of good replies in a round; with fewer the run fails.", at_least(1)
    )
    min_fraction: float = setting(
        0.5,
        "Minimum share of good replies in a round; with a smaller share the run fails.",
        between(0, 1),
    )
    max_edges_ratio: float | None = setting(
        3.0,
        "Maximum number of pairs of variables that a reply's structures join, as a multiple of the "
        "median client's. A reply with more is refused, unless it has at most two pairs per "
        "variable.",
        at_least(1),
    )
    seconds: float | None = setting(
        600.0,
        "Time limit of the consensus search, in seconds. At its end the best state so far, or the "
        "edge vote, is the result. Choosing by counts has as much again, of the server's own work; "
        "at its end the best structure so far is chosen.",
        at_least(0),
        key="consensus-seconds",
    )
    aggregation: str = setting(
        "open",
        "What the server sees: open (structures); secure-sums (only masked sums over all sites, in "
        "many rounds, with the same consensus); moral-votes (one masked sum of votes on moral "
        "edges).",
        one_of(*AGGREGATIONS),
    )
    look_ahead: int = setting(
        8,
        "Secure sums: number of choices guessed ahead in one request. More guesses mean fewer "
        "rounds and the same result.",
        between(0, MAX_CHAIN),
    )
    vote_quorum: int = setting(
        1,
        "Secure sums, in place of quorum: keep an arc in the fusion only if at least this many "
        "sites have it; above 1 the fusion is no longer the union.",
        at_least(1),
    )
    sum_retries: int = setting(
        3,
        "Secure sums: number of further requests to a silent site. All sites must answer.",
        at_least(0),
    )
    known: Knowledge | None = None
    """What the consensus keeps; of a run what its setting `knowledge` says, and of a group of sites
    what of it is about its columns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        summed, counted = self.aggregation != "open", self.choose != "smhd"
        union, numbers = self.variables == "union", ("min_sites", "min_judges")
        different = {
            f"site-column = {self.site_column}": self.site_column is not None,
            f"fusion = {self.fusion}": self.fusion not in OVER_UNION,
        }
        wrong = {
            **{
                f"{name.replace('_', '-')} is {getattr(self, name)}, but it is for variables = "
                "union: with variables = same every site has every column": (
                    not union and getattr(self, name) > 1
                )
                for name in numbers
            },
            **{
                f"variables = union does not go with {words} yet: it needs no site-column, and one "
                f"of the fusions {', '.join(OVER_UNION)} (docs/different-variables.md has the "
                "reason)": union and is_so
                for words, is_so in different.items()
            },
            f"groups is {self.groups}, but groups cannot be found from sums over all sites: use "
            "aggregation = open, or give them (groups-file)": (
                requested_groups(self.groups) != 1 and summed
            ),
            f"groups = {self.groups} finds groups and groups-file gives them: use one of them": (
                self.groups != "no" and self.groups_file is not None
            ),
            f"sums are fused by mcbnc; the fusion {self.fusion!r} needs structures": (
                summed and self.fusion != "mcbnc"
            ),
            f"max-treewidth is for choose = smhd, not for {self.choose}: counts choose families "
            "one by one, and cannot limit their width together": (
                self.max_treewidth is not None and counted
            ),
            f"choose {self.choose} is for the fusion mcbnc, not for {self.fusion!r}": (
                self.fusion != "mcbnc" and counted
            ),
            "secure sums give no median: robust must be best, mean or clip": (
                summed and self.robust == "median"
            ),
            f"site-column {self.site_column!r} needs choose = counts or climb, and aggregation = "
            "open: no site's structure can have an edge of it": (
                self.site_column is not None and (summed or not counted)
            ),
            f"quorum is {self.quorum}, but sums do not show how many structures have an arc: use "
            "vote-quorum, which counts sites": summed and self.quorum > 1,
        }
        refuse(wrong)


@dataclass(frozen=True)
class FederationSettings(Settings):
    """How the server waits, and what it does with clients that do not fit."""

    on_mismatch: str = setting(
        "stop",
        "What to do with clients that do not have the agreed columns: stop the run, or leave-out "
        "(continue without them).",
        one_of("stop", "leave-out"),
    )
    connect_seconds: float = setting(
        300.0,
        "Maximum time that a deployed run waits for min-replies sites to connect, in seconds.",
        at_least(0),
    )
    reply_seconds: float | None = setting(
        3600.0,
        "Maximum time that the server waits for the replies of a round, in seconds; none: one day.",
        at_least(1),
    )


@dataclass(frozen=True)
class RoundSettings(Settings):
    """What sites are asked for in all rounds; they are told it."""

    rounds_limit: int = setting(
        1,
        "Maximum number of rounds; 1 is one-shot.",
        at_least(1),
        flags=("--rounds-limit", "--rounds"),
    )
    parameters: str = setting(
        "none",
        "Whether to estimate the consensus' parameters: federated (from sums of counts and, for "
        "numbers, of products, where the sites' policies allow it) or none.",
        one_of("federated", "none"),
    )
    parameter_ess: float | None = setting(
        None,
        "Equivalent sample size of the consensus' tables. If sites have only a few hundred rows, "
        "the number of sites is a better value: 10 for ten sites.",
        finite_at_least(0),
        shown="ess",
    )
    contract: tuple[str, ...] = setting(
        (),
        "Hashes of the sites' contracts (fedbn site prepare). A site with another contract "
        "refuses.",
        shown="any",
    )
    share_diagnostics: bool = setting(
        False, "Let clients also send their label, their number of rows and their seconds."
    )


@dataclass(frozen=True)
class CourierSettings(Settings):
    """Sites whose messages are files, and where the server has these."""

    names: tuple[str, ...] = setting(
        (),
        "Sites without a network, by the names of their keys. Messages to them are files, which "
        "people carry (docs/courier.md).",
        key="couriers",
        shown="none",
    )
    folder: str | None = setting(
        None,
        "In a run that also has nodes: folder of the couriers' files at the server.",
        key="courier-dir",
    )
    keys: str | None = setting(
        None,
        "Folder with server.key, server.pem and the couriers' NAME.pub.",
        key="courier-keys",
    )


@dataclass(frozen=True)
class OutputSettings(Settings):
    """What the server app writes, and where."""

    out_dir: str | None = setting(None, "Folder that the server app writes results to.")
    checkpoint: str | None = setting(
        None, "File that keeps the server's state after every round.", shown="beside out-dir"
    )
    resume: bool = setting(False, "Continue an interrupted run after its last complete round.")


@dataclass(frozen=True)
class Experiment(Settings):
    """One federated run: whose data, how it is learned, how it is fused.

    `engine` and `processes` say how it is executed here. They are in no run config, for they must
    not change a byte of the result.

    >>> Experiment.of(network="asia", clients=3).data.clients
    3
    """

    data: DataSettings = field(default_factory=DataSettings)
    tables: TableSettings = field(default_factory=TableSettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    consensus: ConsensusSettings = field(default_factory=ConsensusSettings)
    limits: Limits = field(default_factory=Limits)
    federation: FederationSettings = field(default_factory=FederationSettings)
    rounds: RoundSettings = field(default_factory=RoundSettings)
    couriers: CourierSettings = field(default_factory=CourierSettings)
    output: OutputSettings = field(default_factory=OutputSettings)
    seed: int = setting(1, "Seed of all randomness.", at_least(0))
    engine: str = setting(
        "flower",
        "flower (a real Flower run) or in-process; both give the same result.",
        one_of(*ENGINES),
        local=True,
    )
    processes: int | None = setting(
        None, "Worker processes of the in-process engine.", at_least(1), shown="1", local=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        several, ladder = self.learner.max_structures, len(self.learner.ladder)
        imputations = self.learner.imputations
        name, limit = self.consensus.aggregation, self.rounds.rounds_limit
        summed, choose = name != "open", self.consensus.choose
        union, cuts = self.consensus.variables == "union", self.tables.discretise != ()
        wrong = {
            f"a site may have {several} structures for each of {ladder} row weights, but replies "
            f"of more than {self.limits.max_dags} structures are refused: raise "
            "max-dags-per-reply, too": ladder * several > self.limits.max_dags,
            f"{name} is for one round: structures of further ones would depend on the sums before, "
            f"so rounds-limit must be 1, not {limit}": summed and limit > 1,
            f"a run with {name} keeps no checkpoint: start it anew": summed and self.output.resume,
            f"{name} sums structures of one row weight, not of several": summed and ladder > 1,
            "discretise finds cut points from sums over all sites, and with groups-file no sum is "
            "over two groups: give cuts": (
                summed and cuts and self.consensus.groups_file is not None
            ),
            f"{name} finds no structures among which {choose} could choose: use secure-sums, or "
            "choose = smhd": name == "moral-votes" and choose != "smhd",
            # A site's file may have cells imputed, whatever the run says.
            "groups = auto asks whether sites differ by more than chance, but structures of "
            f"several imputations (here {imputations}) may differ by missing cells alone, where a "
            "site imputes: set imputations = 1, give the number of groups, or, with variables = "
            "same, take the learner bootstrap or credible": (
                self.consensus.groups == "auto"
                and imputations > 1
                and (union or not self.learner.redraws)
            ),
            f"variables = union does not go with discretise and aggregation = {name} (give cuts) "
            "yet (docs/different-variables.md has the reason)": (union and summed and cuts),
            "missing-variables makes clients with different variables: use --variables union": (
                self.data.missing_variables > 0 and not union
            ),
        }
        refuse(wrong)
        told = self.learner.knowledge
        if self.consensus.known is None and told is not None and is_text(told):
            consensus = replace(self.consensus, known=read_knowledge(told))
            object.__setattr__(self, "consensus", consensus)

    @property
    def reply_seconds(self) -> float:
        """How long the server waits for the replies to one request."""
        return self.federation.reply_seconds or DAY

    @property
    def parameter_ess(self) -> float:
        """Equivalent sample size of the consensus' tables: its own setting, or the score's."""
        own = self.rounds.parameter_ess
        return self.learner.ess if own is None else own

    @classmethod
    def of(cls, **values: Any) -> Experiment:
        """An experiment from single settings and whole groups; see `change`."""
        return cls().change(**values)

    def change(self, **values: Any) -> Experiment:
        """The same with other values of single settings (`min_replies=3`) or of whole groups.

        Raises
        ------
        ConfigError : a value is out of range. TypeError : there is no such setting.
        """
        whole: dict[str, Any] = {}
        single: dict[str, dict[str, Any]] = {}
        by_name = {each.key.replace("-", "_"): (group, each) for group, each in all_settings()}
        for name, value in values.items():
            if name in GROUPS and isinstance(value, GROUPS[name]):
                whole[name] = value
            elif name not in by_name:
                raise TypeError(f"there is no setting {name!r}")
            else:
                group, each = by_name[name]
                target = whole if group is None else single.setdefault(group, {})
                target[each.name] = value
        for group_name, changes in single.items():
            before = whole.get(group_name, getattr(self, group_name))
            whole[group_name] = replace(before, **changes)
        consensus = replace(whole.get("consensus", self.consensus), known=None)
        return replace(self, **{**whole, "consensus": consensus})


GROUPS: Mapping[str, Any] = {
    each.name: each.default_factory
    for each in fields(Experiment)
    if each.default_factory is not MISSING
}
"""The fields of Experiment that hold settings of their own."""


def all_settings() -> Iterator[tuple[str | None, Setting]]:
    """(group, setting) of every setting, None for those of Experiment itself."""
    for name, group in GROUPS.items():
        for each in settings_of(group):
            yield name, each
    for each in settings_of(Experiment):
        yield None, each
