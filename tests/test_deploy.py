"""deploy/: containers and units that hold to the rules of their own page, read without a daemon."""

from __future__ import annotations

import argparse
import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from flwr.supercore.cli.flower_superexec import _parse_args as superexec
from flwr.superlink.cli.flower_superlink import _parse_args_run_superlink as superlink
from flwr.supernode.cli.flower_supernode import _parse_args_run_supernode as supernode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from simulations.cli import app
from simulations.deployment.keys import make_keys

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = sorted(DEPLOY.glob("*.compose.yaml"))
SERVICES = [
    (file.name, name, service)
    for file in COMPOSE
    for name, service in yaml.safe_load(file.read_text())["services"].items()
]


def compose(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text())
    return content


def parsed(command: list[str]) -> None:
    """Let the program's own parser read its options; raises or exits where it does not know one."""
    program, *options = command
    options = [re.sub(r"\$\{SUPERLINK[^}]*\}", "flower.example.org:9600", each) for each in options]
    parsers = {"flower-superlink": superlink, "flower-superexec": superexec}
    parsers["flower-supernode"] = supernode
    name = Path(program).name
    if name in parsers:
        parser: argparse.ArgumentParser = parsers[name]()
        parser.parse_args(options)
    elif name == "fedbn":
        typer.main.get_command(app).commands[options[0]].make_context(  # type: ignore[attr-defined]
            options[0], options[1:], resilient_parsing=False
        )
    else:
        assert [name, *options] == ["caddy", "run", "--config", "Caddyfile"]


@pytest.mark.parametrize(("file", "name", "service"), SERVICES)
def test_a_container_has_no_rights(file: str, name: str, service: Mapping[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "user", "cap_add", "environment", "env_file"} & set(service)
    assert ("ports" in service) == (name == "front")
    assert service["pids_limit"] <= 256
    assert re.search(r"[0-9][mg]\b", service["mem_limit"])
    known = compose(file)
    for volume in service.get("volumes", ()):
        source, _, mode = volume.partition(":")
        assert source in known["volumes"] or mode.endswith(":ro")
    for kind in ("configs", "secrets"):
        for entry in service.get(kind, ()):
            assert entry["source"] in known[kind]
            is_key = entry["target"].endswith(".key")
            assert is_key == (kind == "secrets")
    if "command" in service:
        parsed(service["command"])


def test_networks_are_those_of_the_page() -> None:
    server, site = compose("server.compose.yaml"), compose("site.compose.yaml")
    for content, outside in ((server, {"front"}), (site, {"supernode"})):
        inside = {name for name, net in content["networks"].items() if net.get("internal")}
        open_services = {
            name for name, each in content["services"].items() if set(each["networks"]) - inside
        }
        assert open_services == outside
    executor = site["services"]["executor"]
    assert executor["networks"] == ["apps"]
    assert any(volume.startswith("./site:") for volume in executor["volumes"])
    assert not any("site" in volume for volume in site["services"]["supernode"]["volumes"])
    assert "front" not in {n for n, s in server["services"].items() if "apps" in s["networks"]}


def test_every_file_that_is_mounted_comes_from_fedbn_keys(tmp_path: Path) -> None:
    made = {path.name for path in make_keys(tmp_path, ["flower.example.org"], ["north"])}
    for file in COMPOSE:
        content = compose(file.name)
        for entry in (*content["configs"].values(), *content["secrets"].values()):
            name = re.sub(r"\$\{SITE:[^}]*\}", "north", entry["file"])
            assert Path(name).name in made


def compose_arguments() -> set[str]:
    """The arguments of images that the compose files pass on."""
    builds = [service.get("build", {}) for _, _, service in SERVICES]
    return {each.partition("=")[0] for build in builds for each in build.get("args", ())}


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("Dockerfile*")))
def test_an_image_runs_as_nobody_and_holds_no_key(file: Path) -> None:
    lines = re.sub(r"\\\n", " ", file.read_text()).splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith(("#", " "))]
    words = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "CMD", "ARG"}
    assert {word for word, _ in steps} <= words
    users = [rest for word, rest in steps if word == "USER"]
    assert [int(user) for user in users if int(user) > 0] == [int(user) for user in users] != []
    given = dict(rest.split("=") for word, rest in steps if word == "ARG")
    assert all(name in compose_arguments() for name in given)
    bases = [rest.split()[0] for word, rest in steps if word == "FROM"]
    bases = [given.get(base.strip("${}"), base) for base in bases]
    stages = {rest.split()[-1] for word, rest in steps if word == "FROM" and " AS " in rest}
    assert all(base in stages or ":" in base for base in bases)
    for word, rest in steps:
        assert "key" not in rest or word == "WORKDIR"
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (DEPLOY.parent / source).exists()


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_a_unit_has_a_user_of_its_own_and_no_rights(file: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(re.sub(r"\\\n\s*", "", file.read_text()))
    service = unit["Service"]
    assert service["User"] == file.stem
    assert f"u {file.stem} - " in (DEPLOY / "systemd" / "fedbn.sysusers.conf").read_text()
    assert service["CapabilityBoundingSet"] == ""
    for key, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("UMask", "0077"),
                       ("SystemCallFilter", "@system-service"), ("TasksMax", "256")):  # fmt: skip
        assert service[key] == value
    assert re.fullmatch(r"[0-9]+[MG%]", service["MemoryMax"])
    on_this_machine = file.stem not in ("fedbn-front", "fedbn-supernode")
    assert (service.get("IPAddressDeny") == "any") == on_this_machine
    parsed(shlex.split(service["ExecStart"]))


def test_systemd_knows_every_line_of_the_units() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd is not installed")
    done = subprocess.run(
        [program, "verify", *map(str, UNITS)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "is not executable" not in line]
    assert said == []


# --- What is installed --------------------------------------------------------------------------


def pins(text: str) -> dict[str, str]:
    """Package, as pip compares names, -> version."""
    lines = [line.partition(" ")[0] for line in text.splitlines() if re.match("[A-Za-z0-9]", line)]
    found = dict(line.split("==") for line in lines)
    return {canonicalize_name(name): version for name, version in found.items()}


def test_the_lock_has_hashes_and_the_versions_that_were_tested() -> None:
    lock = (DEPLOY / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", lock.strip())
    for entry in entries:
        first, *hashes = [line.strip(" \\") for line in entry.splitlines()]
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[^ ;]+( ; [^\\]+)?", first), first
        assert hashes
        assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", each) for each in hashes), first
    locked, tested = pins(lock), pins((DEPLOY.parent / "constraints.txt").read_text())
    assert locked.items() <= tested.items()


def test_the_lock_has_all_that_fedbn_needs_where_it_is_deployed() -> None:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["exact"],
        *project["build-system"]["requires"],
    ]
    locked = pins((DEPLOY / "requirements.lock").read_text())
    for requirement in map(Requirement, wanted):
        assert locked[canonicalize_name(requirement.name)] in requirement.specifier
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert "--require-hashes -r requirements.lock" in dockerfile
    assert re.findall("pip install .*", dockerfile)[1].endswith("--no-deps --no-build-isolation .")
