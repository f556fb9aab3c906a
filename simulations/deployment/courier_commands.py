"""`fedbn courier start`, `continue`, `status`: a run by files at the server; `fedbn site answer`
and `forget` at a site."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fedbn
from fedbn.errors import ConfigError
from fedbn.wording import count_of
from simulations.options import Json

if TYPE_CHECKING:
    from fedbn.federation.courier_run import Asked, CourierRun

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run, at the server.")]
SiteOption = Annotated[
    Path | None,
    typer.Option("--site", show_default="the only .toml file here", help="The site's own file."),
]

KINDS: Mapping[str, str] = {
    "query.histogram": "counts of numbers, for cut points",
    "query.cut_keys": "a key for masked counts of numbers",
    "query.cut_sums": "a masked sum of counts of numbers",
    "query": "columns and states",
    "query.report": "to be told how it differs; no reply is needed",
    "query.counts": "counts of families",
    "query.moments": "moments of families",
    "query.scatter": "sums of products",
    "query.conditional": "sums of families of both kinds",
    "train": "structures",
    "query.keys": "a key for secure sums",
    "train.sums": "a share of a masked sum",
}
"""Kind of message -> what a site is asked for, for people."""


def start(
    settings: Annotated[
        Path,
        typer.Argument(metavar="RUN.toml", help='Settings of the run, with couriers = ["north"].'),
    ],
    folder: Annotated[
        Path, typer.Option("--dir", help="Folder of the run; it must be new or empty.")
    ],
    keys: Annotated[
        Path | None,
        typer.Option(
            help="Folder with server.key, server.pem and every NAME.pub, as fedbn keys makes it.",
            show_default="courier-keys of RUN.toml",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: any setting of the run; may be repeated."),
    ] = None,
    days: Annotated[
        int, typer.Option(min=1, max=3650, help="Days until the run ends and sites delete it.")
    ] = 90,
    as_json: Json = False,
) -> None:
    """Begin a run with sites that have no network: write the first requests to DIR/requests.

    Carry each NAME-0001.request.fedbn to site NAME, run fedbn site answer there, put the reply into
    DIR/replies, and run fedbn courier continue DIR. At the end of the run the results are in
    DIR/results. The server's key signs the requests. All settings of a run are allowed
    (docs/settings.md) except those of simulated tables; reply-seconds and connect-seconds have no
    effect.
    """
    from simulations.deployment.courier_server import begin
    from simulations.experiment import experiment_from, with_absolute_paths
    from simulations.inputs import set_options

    experiment = experiment_from(set_options(setting or []), config=settings)
    known = keys or experiment.couriers.keys
    if known is None:
        raise ConfigError("name the folder of the keys: --keys FOLDER, or courier-keys in RUN.toml")
    with _server_log():
        step = begin(with_absolute_paths(experiment), folder, Path(known), days)
    _show(step.run, folder, as_json=as_json)


def go_on_with(
    folder: Folder,
    replies: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPLY...", help="Replies, besides all files in DIR/replies."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a site for whose reply to the current request the run no longer waits; "
            "may be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Take the replies that have arrived, and write the next requests or the results.

    A reply that is incomplete or changed, or for another run or request, is refused with one
    line, and then no reply is taken. A reply that was taken before is skipped. A site named by
    --without counts as late: the other sites must reach min-replies and min-fraction, the site may
    be asked again in the next round, and a reply that arrives later is refused.
    """
    from simulations.deployment.courier_server import go_on

    with _server_log():
        step = go_on(folder, replies or (), without or ())
    _show(step.run, folder, step.taken, as_json=as_json)


def status_of(folder: Folder, as_json: Json = False) -> None:
    """Show the state of a run: which reply each site owes, or where the results are."""
    from fedbn.federation.courier_run import read_run

    _show(read_run(folder, fedbn.__version__), folder, as_json=as_json)


def answer_request(
    request: Annotated[Path, typer.Argument(help="A request.fedbn of this site's server.")],
    site: SiteOption = None,
    out: Annotated[
        Path | None,
        typer.Option(show_default="NAME-NUMBER.reply.fedbn", help="Where to write the reply."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer a request that arrived as a file, if this site's server made it for this site.

    The site's file names the server: key, authority and server in \\[courier]. Policy, contract
    and log are those of every run (docs/deployment.md). A request that was answered before gets the
    same reply, byte for byte; another request with the same number is refused. The site keeps what
    the run needs beside the table (TABLE.courier) until the run ends or fedbn site forget deletes
    it.
    """
    from fedbn.whole_file import require_writable, write_whole
    from simulations.deployment.courier_site import answer
    from simulations.terminal import print_json

    if out is not None:
        require_writable(out)
    with _log_lines("fedbn.client"):
        answered = answer(request, _site_file(site))
    asked = answered.request
    place = out or Path(f"{asked.site}-{asked.number:04}.reply.fedbn")
    write_whole(place, answered.data)
    if as_json:
        found = {"run": asked.run, "number": asked.number, "kind": asked.kind, "out": str(place)}
        print_json({**found, "notice": answered.word, "before": answered.before})
        return
    print(f"request {asked.number} of run {asked.run}: {KINDS.get(asked.kind, asked.kind)}")
    if answered.word:
        print(f"not answered ({answered.word}); {place} says so, if you carry it")
    elif answered.before:
        print(f"it was answered before; the same reply is in {place}")
    else:
        print(f"the reply is in {place}")


def forget_run(
    run: Annotated[str, typer.Argument(help="The run's id, which fedbn site answer prints.")],
    site: SiteOption = None,
    as_json: Json = False,
) -> None:
    """Delete what this site keeps of a courier run: structures, replies, and the key of its sums.

    This cannot be undone: the site answers no further request of that run. Otherwise the first
    answer after the end of the run deletes all of it. The disclosure log stays.
    """
    from simulations.deployment.courier_site import forget
    from simulations.terminal import print_json

    known = forget(_site_file(site), run)
    if as_json:
        print_json({"run": run, "deleted": known})
    else:
        print(f"run {run}: {'deleted' if known else 'nothing was kept'}; it is not answered again")


def _site_file(site: Path | None) -> Path:
    if site is not None:
        return site
    found = sorted(Path().glob("*.toml"))
    if len(found) != 1:
        raise ConfigError(
            f"name the site's file: --site NAME.toml ({count_of(len(found), '.toml file')} here)"
        )
    return found[0]


def _show(run: CourierRun, folder: Path, taken: Sequence[Asked] = (), *, as_json: bool) -> None:
    from simulations.terminal import print_json

    if as_json:
        print_json(_content(run))
        return
    if taken:
        print(f"taken: {', '.join(each.name for each in taken)}")
    if run.results:
        print(f"run {run.run} has ended: its results are in {run.results}")
    for asked in (each for each in run.asked if each.state == "told"):
        print(f"to be told how it differs: {asked.site}, {asked.name}.request.fedbn")
    for asked in run.awaited:
        words = KINDS.get(asked.kind, asked.kind)
        print(f"awaited: {asked.site}, {words}: {asked.name}.request.fedbn")
    if run.awaited:
        print(
            f"carry these from {folder / 'requests'}, put the replies into "
            f"{folder / 'replies'}, then run: fedbn courier continue {folder}"
        )


def _content(run: CourierRun) -> dict[str, Any]:
    def in_state(state: str) -> list[dict[str, Any]]:
        return [
            {
                "site": each.site,
                "number": each.number,
                "kind": each.kind,
                "file": f"{each.name}.request.fedbn",
            }
            for each in run.asked
            if each.state == state
        ]

    return {
        "run": run.run,
        "until": run.until,
        "results": run.results or None,
        "awaited": in_state("awaited"),
        "answered": in_state("answered"),
        "without": in_state("without"),
        "told": in_state("told"),
    }


@contextmanager
def _server_log() -> Iterator[None]:
    """Inside, what the server refuses is said on standard error."""
    from simulations.run import quiet_flower

    with quiet_flower(), _log_lines("fedbn.server"):
        yield


@contextmanager
def _log_lines(name: str) -> Iterator[None]:
    """Inside, a log's warnings are lines on standard error."""
    log, handler = logging.getLogger(name), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("fedbn: %(message)s"))
    before = log.handlers, log.propagate, log.level
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.handlers, log.propagate = before[0], before[1]
        log.setLevel(before[2])
