"""The front's configuration in the real web servers, before a server that tells what reached it."""

from __future__ import annotations

import http.client
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from flwr.supercore.protobuf.translation import PROTOBUF_REQUEST_TYPES
from flwr.superlink.routers.fleet.router import router as fleet

from fedbn.errors import ConfigError
from simulations.deployment.front import FLEET, PATHS, Front, address
from simulations.deployment.keys import make_keys
from simulations.flower.processes import free_ports, new_home, script, start, stop, wait_until_open

PASSED = {f"{FLEET}{path}" for path in PATHS}
STRANGE = (
    "/",
    "/docs",
    "/openapi.json",
    "/health",
    "/v1/fleet",
    "/v1/fleet/",
    "/v1/fleet/register-node",
    "/v1/fleet/unregister-node",
    "/v1/fleet/get-run/",
    "/v1/fleet/get-run/more",
    "/v1/fleet/get-run/../../control/start-run",
    "/v1/fleet/get-run/..%2f..%2fcontrol/start-run",
    "/v1/fleet/%2e%2e/control/start-run",
    "/v1/fleet/get-run%00",
    "//v1/control/start-run",
    "/v1/control%2fstart-run",
    "/v1/control/start-run?/v1/fleet/get-run",
    "/v1/control/start-run#/v1/fleet/get-run",
)


class Recorder(BaseHTTPRequestHandler):
    """Answers 200, and keeps the path."""

    seen: list[str]

    def answer(self) -> None:
        type(self).seen.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


for method in ("GET", "POST", "PUT"):
    setattr(Recorder, f"do_{method}", Recorder.answer)


@contextmanager
def recorder(keys: Path, port: int) -> Iterator[list[str]]:
    """The paths that reach a server with the SuperLink's certificate."""
    Recorder.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", port), Recorder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "superlink.pem", keys / "superlink.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Recorder.seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def fronted(program: str, folder: Path) -> Iterator[tuple[int, Path, list[str]]]:
    """The front's port, the keys, and what reaches the server behind it."""
    public, behind = free_ports(2)
    keys, home = folder / "keys", new_home(folder / "home")
    front = Front("127.0.0.1", f"127.0.0.1:{public}", f"127.0.0.1:{behind}")
    make_keys(keys, ["127.0.0.1"], [], front=front)
    options = {
        "caddy": ("run", "--config", "Caddyfile"),
        "nginx": ("-e", "stderr", "-p", str(home.folder), "-c", str(keys / "nginx.conf")),
    }[program]
    process = start(home, program, program, *options, folder=keys)
    try:
        wait_until_open(home, program, process, front.listen)
        with recorder(keys, behind) as seen:
            yield public, keys, seen
    finally:
        stop(home.folder, [process])


def asked(port: int, keys: Path, path: str, method: str = "POST", size: int = 3) -> int:
    """The front's answer, to the path as it is."""
    context = ssl.create_default_context(cafile=str(keys / "ca.pem"))
    link = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    try:
        link.putrequest(method, path, skip_accept_encoding=True)
        link.putheader("Content-Length", str(size))
        link.endheaders(b"x" * size)
        return link.getresponse().status
    finally:
        link.close()


def installed(program: str) -> str:
    """The program, or a skipped test: only caddy comes with fedbn's extra `front`."""
    if program == "nginx" and shutil.which(program, path="/usr/sbin:/usr/bin") is None:
        pytest.skip("nginx is not installed")
    return script(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["caddy", "nginx"])
def test_a_stranger_gets_nothing_but_fleet(program: str, tmp_path: Path) -> None:
    installed(program)
    with fronted(program, tmp_path) as (port, keys, seen):
        for path in sorted(PASSED):
            assert asked(port, keys, path) == 200
        assert sorted(seen) == sorted(PASSED)
        seen.clear()
        others = {path for _, path in PROTOBUF_REQUEST_TYPES} - PASSED
        assert "/v1/control/start-run" in others
        refused = {path: asked(port, keys, path) for path in (*sorted(others), *STRANGE)}
        refused |= {f"GET {path}": asked(port, keys, path, "GET") for path in sorted(PASSED)}
        assert {path: code for path, code in refused.items() if code not in (400, 403)} == {}
        assert seen == []
        assert asked(port, keys, f"{FLEET}push-object", size=6_000_000) == 200
        assert asked(port, keys, f"{FLEET}push-object", size=33 << 20) == 413


def test_the_paths_are_those_of_flower_s_fleet() -> None:
    """When Flower gives Fleet another path, this list must be thought about."""
    of_flower = {path for _, path in PROTOBUF_REQUEST_TYPES if path.startswith(FLEET)}
    registration = {f"{FLEET}register-node", f"{FLEET}unregister-node"}
    assert of_flower == PASSED | registration
    assert {route.path for route in fleet.routes} == of_flower  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", ["", "9600", "host", "host:0", "host:99999", "a b:1", "h:1;}", "h:1\n"]
)
def test_an_address_is_one(text: str) -> None:
    with pytest.raises(ConfigError, match="must be like"):
        address(text)
    assert address("[::1]:9600") == ("[::1]", "9600")
