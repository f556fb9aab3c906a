"""`fedbn` for the scripts of a guide: one process loads everything, and forks for each command.

    python -m tests.deployment.warm FOLDER    makes FOLDER/fedbn, and answers it until it is killed

A guide of thirty commands costs a second of loading for each of them otherwise. Nothing is drawn:
other tests look at figures.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

CLIENT = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    told = json.dumps([os.getcwd(), sys.argv[1:]]).encode()
    socket.send_fds(server, [told], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


def load() -> None:
    """What the commands of a courier run import when they run."""
    import fedbn.results.plots as plots
    import simulations.commands.simulate
    import simulations.commands.simulate_output
    import simulations.deployment.courier_server
    import simulations.deployment.courier_site  # noqa: F401

    plots.write_figures = lambda *_: None  # type: ignore[assignment]


def run(connection: socket.socket) -> int:
    """The exit status of the command that the client asks for, with the client's own files."""
    told, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    child = os.fork()
    if child:
        for file in files:
            os.close(file)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    folder, arguments = json.loads(told)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(folder)
    sys.argv = ["fedbn", *arguments]
    from simulations.cli import main

    status: object = 70
    try:
        main(arguments)
    except SystemExit as ended:
        status = ended.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def serve(folder: Path) -> None:
    """Answer, one command after the other."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        listening.listen()
        load()
        client = folder / "fedbn"
        client.write_text(CLIENT.format(python=sys.executable, address=str(folder / "socket")))
        client.chmod(0o700)
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.send(bytes([run(connection)]))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
