"""The server's state between two rounds as text, so that a run can go on in another process.

One JSON object with the settings, the agreed schema, every good reply of the last round and the
whole path of its fusion, all exact: a run that goes on from it gives the same bytes as one that was
never interrupted. As `state.json` of a results folder, a consensus is updated from it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from fedbn.bounded_file import json_value
from fedbn.consensus.path_files import path_from_dict, path_to_dict
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import Reading
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, FedbnError, ResultsError
from fedbn.federation.choice_record import choice_from_dict, choice_to_dict, with_choice
from fedbn.federation.message import StructureMessage
from fedbn.federation.missing_shares import read_shares, shares_text
from fedbn.federation.rounds import fuse_needed
from fedbn.federation.run_config import RunConfigValue, from_run_config, to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.state import ClientReply, FederationResult, FusedClass, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import is_text

FORMAT = "fedbn-checkpoint-1"

STATE_FILE = "state.json"
"""What a results folder calls the state."""

_WRONG = (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError, StopIteration)
"""What a reader of content that is nothing like a state runs into."""

MAX_WORDS = 300
"""Characters of an error that are shown."""

FREE_SETTINGS = {
    "out-dir",
    "checkpoint",
    "resume",
    "rounds-limit",
    "connect-seconds",
    "reply-seconds",
    "min-replies",
    "min-fraction",
    "parameters",
    "parameter-ess",
    "groups",
}
"""What may differ when a run goes on: it changes no byte of the rounds that are done."""


@dataclass(frozen=True)
class Checkpoint:
    """A run after some round: its settings, in their flat form, and its state."""

    settings: Mapping[str, RunConfigValue]
    state: ServerState

    @property
    def experiment(self) -> Experiment:
        """What the settings say."""
        return from_run_config(self.settings)


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """The checkpoint as JSON; equal checkpoints have equal text."""
    state = checkpoint.state
    content: dict[str, Any] = {
        "format": FORMAT,
        "settings": dict(checkpoint.settings),
        "schema": state.schema.to_dict(),
        "n_clients": state.n_clients,
        "refused": [list(pair) for pair in state.refused],
        "lone_states": [list(triple) for triple in state.lone_states],
        **({"divided": list(state.divided)} if state.divided else {}),
    }
    if state.result is not None:
        content |= {
            "rounds": state.result.rounds,
            "converged": state.result.converged,
            "replies": [
                _reply_to_dict(reply, state.schema.names) for reply in state.result.replies
            ],
            "path": path_to_dict(state.result.path),
            "row_weight": state.result.row_weight,
        }
        if state.result.consensus.rest_cut_short:
            content["rest_cut_short"] = True
        if state.result.groups:
            content["groups"] = [list(names) for names in state.result.groups]
        if state.result.choice is not None:
            content["choice"] = choice_to_dict(state.result.choice)
    content["sha256"] = _digest(content)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def _digest(content: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of all but `sha256`: a state that was edited or damaged is none."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest).encode("ascii")).hexdigest()


def result_files(
    result: FederationResult, settings: Mapping[str, RunConfigValue]
) -> dict[str, str]:
    """Name -> text of the files that a results folder has for an update; no times, no paths."""
    plain = to_run_config(_without_paths(from_run_config(settings)))
    replies = tuple(replace(reply, seconds=None) for reply in result.replies)
    timeless = replace(result, replies=replies)
    state = ServerState(
        result.schema, len(replies), result.refused, timeless, result.lone_states, result.divided
    )
    schema = json.dumps(result.schema.to_dict(), ensure_ascii=False, indent=1) + "\n"
    return {STATE_FILE: checkpoint_text(Checkpoint(plain, state)), "schema.json": schema}


def _without_paths(experiment: Experiment) -> Experiment:
    """The settings with the names of files and folders, and nothing of where they lie."""
    data, told = experiment.data, experiment.learner.knowledge
    paths = {
        "network": data.network,
        "table": data.table,
        "sites_dir": data.sites_dir,
        "schema": data.schema,
        "network_dir": data.network_dir,
        "groups_file": experiment.consensus.groups_file,
        "knowledge": None if told is None or is_text(told) else told,
    }
    names: dict[str, Any] = {key: Path(path).name for key, path in paths.items() if path}
    names["sites"] = tuple(Path(site).name for site in data.sites)
    return experiment.change(out_dir=None, checkpoint=None, resume=False, **names)


def read_checkpoint(text: str, source: str) -> Checkpoint:
    """The inverse of `checkpoint_text`; raises ResultsError, naming `source`, when the text is no
    checkpoint."""
    try:
        content = json_value(text)
        if content["format"] != FORMAT:
            raise ValueError(f"the format must be {FORMAT!r}, not {content['format']!r:.40}")
        if content.get("sha256", "") not in ("", _digest(content)):
            raise ValueError("it was changed after it was written")
        experiment = from_run_config(content["settings"])
        schema = Schema.from_dict(content["schema"])
        refused = tuple((str(client), str(reason)) for client, reason in content["refused"])
        lone = tuple((str(a), str(b), str(c)) for a, b, c in content.get("lone_states", ()))
        divided = tuple(str(column) for column in content.get("divided", ()))
        result = _result(content, schema, refused, experiment) if "path" in content else None
        if result is not None:
            result = replace(result, lone_states=lone, divided=divided)
        state = ServerState(schema, int(content["n_clients"]), refused, result, lone, divided)
    except (*_WRONG, FedbnError) as error:
        words = " ".join(repr(error).split())
        shown = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}..."
        raise ResultsError(f"{source} must be a checkpoint of fedbn: {shown}") from None
    return Checkpoint(to_run_config(experiment), state)


def require_same_settings(
    now: Mapping[str, RunConfigValue], checkpoint: Checkpoint, source: str
) -> None:
    """Raise ConfigError unless a run may go on from the checkpoint: one setting differs."""
    then = checkpoint.settings
    for key in now:
        if key not in FREE_SETTINGS and now[key] != then[key]:
            raise ConfigError(
                f"a run goes on with its own settings: {key} is {now[key]!r}, in {source} it is "
                f"{then[key]!r}"
            )


def _result(
    content: Mapping[str, Any],
    schema: Schema,
    refused: tuple[tuple[str, str], ...],
    experiment: Experiment,
) -> FederationResult:
    replies = tuple(_reply_from_dict(reply, schema) for reply in content["replies"])
    row_weight = float(content["row_weight"])
    rule = experiment.consensus
    if len(experiment.learner.ladder) > 1 or rule.choose != "smhd" or rule.fusion != "mcbnc":
        classes, _ = fuse_needed(replies, schema, rule)
    else:
        path = path_from_dict(content["path"], rule.known)
        if path.names != schema.names:
            raise ValueError("the path must be over the columns of the schema")
        reading = cast(Reading, rule.reading)
        # Where the time was over before it was known what the rest agrees on, it is over here, too.
        end = -math.inf if content.get("rest_cut_short") else None
        _, consensus = select_among((path,), reading, max_treewidth=rule.max_treewidth, end=end)
        classes = (FusedClass(row_weight, (path,), path, consensus),)
    taken = next(fused for fused in classes if fused.row_weight == row_weight)
    result = FederationResult(
        schema=schema,
        replies=replies,
        refused=refused,
        path=taken.path,
        consensus=taken.consensus,
        rounds=int(content["rounds"]),
        converged=bool(content["converged"]),
        row_weight=row_weight,
        classes=classes,
        groups=tuple(tuple(map(str, names)) for names in content.get("groups", ())),
    )
    if "choice" not in content:
        return result
    return with_choice(result, choice_from_dict(content["choice"], schema))


def _reply_to_dict(reply: ClientReply, names: tuple[str, ...]) -> dict[str, Any]:
    """The reply as JSON values, with its columns where they are not all."""
    return {
        "client": reply.client,
        "status": reply.status,
        "rows": reply.rows,
        **({"rows_dropped": reply.rows_dropped} if reply.rows_dropped else {}),
        "seconds": reply.seconds,
        "weights": list(reply.weights),
        "row_weights": list(reply.row_weights),
        **({"missing": dict(reply.missing)} if reply.missing else {}),
        **({"left_out": [list(each) for each in reply.left_out]} if reply.left_out else {}),
        "dags": [dag.arcs.tolist() for dag in reply.dags],
        **({} if reply.dags[0].names == names else {"columns": list(reply.dags[0].names)}),
    }


def _reply_from_dict(content: Mapping[str, Any], schema: Schema) -> ClientReply:
    """The reply, checked as a message is; its rows and seconds are numbers or not there."""
    names = schema.names
    if "columns" in content:
        names = tuple(content["columns"])
        if list(names) != sorted(set(names)) or not set(names) <= set(schema.names):
            raise ValueError("columns must be some of the schema's, sorted")
    dags = [DAG.from_arcs(names, pairs) for pairs in content["dags"]]
    message = StructureMessage(
        schema.hash,
        names,
        tuple(dags),
        tuple(float(weight) for weight in content["weights"]),
        str(content["status"]),
        row_weights=tuple(float(k) for k in content["row_weights"]),
    )
    rows, seconds = content["rows"], content["seconds"]
    dropped = content.get("rows_dropped", 0)
    if type(dropped) is not int or type(rows) not in (int, type(None)):
        raise TypeError("rows must be whole numbers")
    if type(seconds) not in (float, int, type(None)):
        raise TypeError("seconds must be a number, or null")
    return ClientReply(
        client=str(content["client"]),
        dags=message.dags,
        weights=message.weights,
        status=message.status,
        rows=rows,
        rows_dropped=dropped,
        seconds=seconds,
        row_weights=message.row_weights,
        left_out=tuple((float(k), str(why)) for k, why in content.get("left_out", ())),
        missing=read_shares(shares_text(content.get("missing", {}).items()), schema.names),
    )
