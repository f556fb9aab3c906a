"""Flower's grid without Flower's runtime: the same client app, called in this process.

For sweeps and tests. Records are copied on the way in and out, an exception becomes an error
reply as in a real run, every node has a context of its own whose state persists, and faults can be
injected. With `processes`, the nodes' calls are spread over worker processes.
"""

from __future__ import annotations

import copy
import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity  # the one private import of fedbn

from server.own_grid import OwnGrid
from simulations.sites.client_app import app, simulating

SERVER_NODE = 1
APP_RAISED = 2

Fault = Callable[[int, Message], Message | None]
"""What becomes of a node's reply: another message, or None when it is lost."""

AppSource = Callable[[], Callable[[Message, Context], Message]]
"""Gives the client app; a module-level function, so that worker processes can import it."""


def fedbn_app() -> Callable[[Message, Context], Message]:
    """fedbn's own client app, as simulations have it."""
    return app


class InProcessGrid(OwnGrid):
    """A grid whose nodes are calls of a client app.

    Parameters
    ----------
    run_config : the flat run config that every node sees.
    node_configs : one per node; node ids count from 2, as 1 is the server.
    app : gives the client app.
    fault : applied to every reply.
    count : called with how many of how many messages have been answered.
    processes : number of worker processes, which run while the grid is entered (`with`); None or
        1 for none.
    """

    def __init__(
        self,
        run_config: Mapping[str, Any],
        node_configs: Iterable[Mapping[str, Any]],
        *,
        app: AppSource = fedbn_app,
        fault: Fault | None = None,
        processes: int | None = None,
        count: Callable[[int, int], None] | None = None,
    ) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, SERVER_NODE
        self._contexts = {
            node: Context(1, node, dict(config), RecordDict(), dict(run_config))
            for node, config in enumerate(node_configs, start=SERVER_NODE + 1)
        }
        self._app = app
        self._fault = fault
        self._processes = processes or 1
        self._count = count or (lambda done, total: None)
        self._pool: ProcessPoolExecutor | None = None
        self._sent = 0
        self._waiting: dict[str, Message] = {}

    def get_node_ids(self) -> Iterable[int]:
        """The nodes' ids."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Deliver messages and keep the replies; returns the messages' ids."""
        pushed = []
        for message in messages:
            self._sent += 1
            message.metadata.__dict__["_message_id"] = str(self._sent)  # Flower's SuperLink does so
            pushed.append(message)
        for message, reply in zip(pushed, self._answers(pushed), strict=True):
            if reply is not None:
                self._waiting[message.metadata.message_id] = reply
        return [message.metadata.message_id for message in pushed]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies to these messages, each once."""
        return [self._waiting.pop(key) for key in message_ids if key in self._waiting]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Deliver messages and return the replies; nothing is late here."""
        return self.pull_messages(self.push_messages(messages))

    def __enter__(self) -> InProcessGrid:
        """Start the worker processes, if any."""
        if self._processes > 1:
            spawning = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._processes, mp_context=spawning)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _elsewhere(self, calls: Iterable[Call]) -> Iterator[tuple[Message, RecordDict]]:
        """The answers of worker processes; their warnings are given here."""
        assert self._pool is not None
        for answer, told in self._pool.map(_call_and_record, calls):
            for text, category, file, line in told:
                warnings.warn_explicit(text, category, file, line)
            yield answer

    def _answers(self, messages: list[Message]) -> Iterator[Message | None]:
        calls = [
            (self._app, message, self._contexts[message.metadata.dst_node_id])
            for message in messages
        ]
        answered = map(_call, calls) if self._pool is None else self._elsewhere(calls)
        answers = enumerate(zip(messages, answered, strict=True), start=1)
        for done, (message, (reply, state)) in answers:
            self._count(done, len(messages))
            node = message.metadata.dst_node_id
            self._contexts[node].state = state
            yield reply if self._fault is None else self._fault(node, reply)


Call = tuple[AppSource, Message, Context]
"""The app, what it is sent, and its node."""

Told = tuple[str, type[Warning], str, int]
"""A warning: what is said, its kind, the file and the line that it came from."""


def _call_and_record(
    call: Call,
) -> tuple[tuple[Message, RecordDict], list[Told]]:
    """`_call` in a process of its own, and its warnings, which that process has nobody to tell."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        answer = _call(call)
    return answer, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


def _call(call: Call) -> tuple[Message, RecordDict]:
    """One call of the app on copies; returns the reply and the node's state after it."""
    source, message, context = call
    delivered, seen = copy.deepcopy(message), copy.deepcopy(context)
    try:
        with simulating():
            reply = copy.deepcopy(source()(delivered, seen))
    except Exception as error:
        reply = Message(Error(code=APP_RAISED, reason=repr(error)), reply_to=message)
    return reply, seen.state
