"""`fedbn courier`: a run whose messages are files, begun, gone on with, and finished.

Every step is a process of its own. It begins the server's rounds anew over a `CourierGrid`, which
has the replies that were taken, until one is missing or the results are there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flwr.supercore.task_identity import TaskIdentity

from fedbn.errors import ConfigError
from fedbn.federation.courier_run import Asked, CourierRun
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from fedbn.results.report import check_results_folder
from fedbn.wording import count_of
from server.checkpoint import checkpoint_file, forget
from server.courier import AwaitedError, CourierGrid, RoundDoneError
from server.courier_folder import CourierFolder, begin_folder, new_run, open_folder
from server.server_app import Federated, federate, of_run, write_folder

SERVER_NODE = 1


@dataclass(frozen=True)
class Step:
    """How far a run is.

    Attributes
    ----------
    run : after the step.
    taken : questions whose replies the step took.
    """

    run: CourierRun
    taken: tuple[Asked, ...] = ()


def begin(experiment: Experiment, folder: Path, keys: Path, days: int) -> Step:
    """Make the folder of a run and write its first requests.

    Parameters
    ----------
    experiment : its settings; the sites are its `couriers`.
    folder : new or empty.
    keys : with server.key, server.pem and every NAME.pub.
    days : until the run ends, and sites forget it.

    Raises
    ------
    ConfigError : the settings name tables, or no couriers, or fewer than must answer; a key is not
        there; the folder is in use.
    ResultsError : the folder cannot be written. Others as `federate`.
    """
    if experiment.data.is_named:
        named = [key for key, value in experiment.data.sources().items() if value]
        raise ConfigError(f"the sites of a courier run have their own tables: drop {named[0]}")
    if experiment.output.resume or experiment.output.checkpoint:
        raise ConfigError(
            "a courier run has its checkpoint in its folder and is resumed by fedbn courier "
            "continue: drop checkpoint and resume"
        )
    end = datetime.now(UTC) + timedelta(days=days)
    run_id = 1 + secrets.randbelow(2**62)
    run = new_run(experiment, run_id, keys, end)
    count, least = len(run.sites), experiment.consensus.min_replies
    if count < least:
        raise ConfigError(f"min-replies is {least}, but there are {count_of(count, 'courier')}")
    begin_folder(folder, run)
    return go_on(folder)


def go_on(folder: Path, replies: Sequence[Path] = (), without: Iterable[str] = ()) -> Step:
    """Take the replies that are there, go on, and write the next requests or the results.

    Parameters
    ----------
    folder : of the run.
    replies : further files, besides those in its folder of replies.
    without : sites that are not waited for any longer in what they are asked now.

    Raises
    ------
    ConfigError : nothing is awaited from a site in `without`, or the run has ended.
    MessageError : a reply is not one of this run's; then none is taken.
    Others as `federate` and `CourierFolder`.
    """
    with open_folder(folder) as opened:
        taken = opened.take([*opened.waiting_files(), *replies])
        opened.go_without(without)
        if not opened.run.results and not opened.run.awaited:
            _require_time(opened)
            _federate(opened)
        return Step(opened.run, tuple(taken))


def _require_time(opened: CourierFolder) -> None:
    if datetime.now(UTC) > opened.run.end:
        raise ConfigError(f"run {opened.run.run} ended on {opened.run.until[:10]}: begin another")


def _federate(opened: CourierFolder) -> None:
    """Begin the rounds anew, until a reply is missing or the results are written."""
    TaskIdentity.task_id, TaskIdentity.run_id = 1, int(opened.run.run)
    TaskIdentity.node_id = SERVER_NODE
    experiment = of_run(from_run_config(opened.run.settings), int(opened.run.run))
    experiment = _with_files(experiment, opened.path)
    assert experiment.output.out_dir is not None
    check_results_folder(experiment.output.out_dir)
    while True:
        try:
            federated = _from_checkpoint(opened, experiment)
        except RoundDoneError:
            continue
        except AwaitedError:
            return
        break
    write_folder(federated, experiment, int(opened.run.run))
    forget(experiment.output)
    opened.finish(Path(experiment.output.out_dir).absolute())


def _from_checkpoint(opened: CourierFolder, experiment: Experiment) -> Federated:
    checkpoint = checkpoint_file(experiment.output)
    assert checkpoint is not None
    resumed = experiment.change(resume=checkpoint.exists())
    return federate(CourierGrid(opened, checkpoint), resumed, name=opened.run.masks)


def _with_files(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with its checkpoint in the run's folder, and its results unless it says."""
    here = folder.absolute()
    return experiment.change(
        out_dir=experiment.output.out_dir or str(here / "results"),
        checkpoint=str(here / "checkpoint.json"),
    )
