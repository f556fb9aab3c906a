"""`fedbn executor`: a site's client app, outside of any bundle.

A SuperNode with `--isolation process` runs no app: it hands each message to whoever shows it the
site's secret. Flower's own `flower-superexec` then unpacks the run's bundle and runs its code. This
program runs the client app that is installed here, with the site's own file as its configuration,
and refuses every run whose bundle has another client app (`simulations.deployment.pin`). No line of
a bundle is run, and none of its files is written. Each message has a process of its own, forked
from one that has loaded the app.

Flower's modules that are imported here are not its public interface; fedbn is bound to two minor
versions of it (decision 002), and tests/deployment runs all of this.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

from flwr.app import Context, Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supercore.retry import make_simple_http_retry_invoker
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from clients.client_app import app
from clients.disclosures import BUNDLE
from clients.door import refuse
from fedbn.errors import ConfigError, ContractError, system_errors_as
from fedbn.federation.prepared_table import contract_of
from fedbn.federation.site_file import read_site_file
from simulations.deployment.front import address
from simulations.deployment.pin import bundle_digest, refusal_of

LOG = logging.getLogger("fedbn.executor")

POLL_SECONDS = 0.5
ACQUIRE = "/flwr.proto.Runtime/AcquireTask"


def site_config(site: Path) -> dict[str, str]:
    """The node's configuration that a site's file is; raises ConfigError, also without a table."""
    decided = read_site_file(site)
    if decided.table is None:
        raise ConfigError(f'{site} must name its table: table = "north.csv"')
    if not decided.table.is_file():
        raise ConfigError(f"{site}: the table {decided.table} must be a file")
    return {"data-path": str(decided.table.absolute()), "policy": str(site.absolute())}


def serve(site: Path, supernode: str, secret: Path | None) -> None:
    """Answer the SuperNode's messages until the process is told to end.

    Parameters
    ----------
    site : the site's file, with its table.
    supernode : "host:port" of the SuperNode's own interface.
    secret : file with what the SuperNode's `--superexec-auth-secret-file` has.

    Raises
    ------
    ConfigError : the site's file is wrong, or the secret cannot be read.
    """
    show_lines()
    config = site_config(site)
    address(supernode)
    interceptors: list[ProtobufClientInterceptor] = [RuntimeVersionHttpInterceptor("SuperExec")]
    if secret is not None:
        shown = SuperExecAuthHttpInterceptor(
            master_secret=_secret(secret), protected_methods=frozenset({ACQUIRE})
        )
        interceptors.append(shown)
    client = _client(supernode, interceptors)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    forking = _forking()
    request = AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP])
    _say_contract(site)
    LOG.info("the client app of %s waits for the SuperNode at %s", site, supernode)
    while True:
        task = client.AcquireTask(request)
        if task.token:
            work = (supernode, task.token, config)
            forking.Process(target=work_on, args=work, daemon=True).start()
        multiprocessing.active_children()  # reaps those that have ended
        time.sleep(POLL_SECONDS)


def _say_contract(site: Path) -> None:
    """Log the contract, or that nothing will be answered without one."""
    decided = read_site_file(site)
    try:
        LOG.info("contract %s", contract_of(str(decided.table), decided).hash)
    except ContractError as error:
        LOG.warning("every question will be refused: %s", error)


def show_lines() -> None:
    """Print what executor and app log, with the time; Flower prints its own lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for log in (LOG, logging.getLogger("fedbn.client")):
        log.handlers = [handler]
        log.propagate = False
        log.setLevel(logging.INFO)


def work_on(supernode: str, token: str, config: Mapping[str, str]) -> None:
    """Answer one message, in a process of its own."""
    show_lines()
    client = _client(
        supernode,
        [RuntimeVersionHttpInterceptor("flwr-clientapp"), RuntimeTokenHttpInterceptor(token)],
    )
    alive = HeartbeatSender(make_task_heartbeat_fn_http(client))
    alive.start()
    status, context = SubStatus.FAILED, None
    try:
        message, context, _, fab = pull_task_input(client)
        context.node_config = dict(config)
        push_message(client, answer(message, context, fab.content), context)
        status = SubStatus.COMPLETED
    finally:
        details = "" if status == SubStatus.COMPLETED else "the site's executor failed"
        push_task_output(client, context, status, details)
        alive.stop()
        client.close()


def answer(message: Message, context: Context, bundle: bytes) -> Message:
    """The installed app's answer; a refusal, logged like all that leaves, of other bundles."""
    os.environ[BUNDLE] = bundle_digest(bundle)
    pinned = read_site_file(str(context.node_config["policy"])).bundles
    reason = refusal_of(bundle, pinned)
    if not reason:
        LOG.info("run %s: a message; bundle %s", context.run_id, os.environ[BUNDLE])
        return app(message, context)
    LOG.warning("run %s is refused: %s; bundle %s", context.run_id, reason, os.environ[BUNDLE])
    error = Error(ErrorCode.INVALID_FAB, f"refused by this site: {reason}")
    return refuse(message, context, Message(error, reply_to=message))


def _client(supernode: str, interceptors: Sequence[ProtobufClientInterceptor]) -> RuntimeHttpClient:
    """Flower's client of a SuperNode; it asks again while the SuperNode is not there."""
    return RuntimeHttpClient.from_server_address(
        server_address=supernode,
        insecure=True,
        root_certificates=None,
        interceptors=interceptors,
        retry_invoker=make_simple_http_retry_invoker(),
    )


def _forking() -> ForkServerContext:
    """Processes that begin with this module loaded."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([__name__, "fedbn.federation.rounds"])
    first = forking.Process(target=show_lines)  # a task that waits for the loading would expire
    first.start()
    first.join()
    return forking


def _secret(file: Path) -> bytes:
    with system_errors_as(ConfigError, f"cannot read the secret {file}"):
        secret = file.read_bytes()
    if not secret:
        raise ConfigError(f"the secret {file} must not be empty")
    return secret
