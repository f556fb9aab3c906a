"""The commands around a deployment, but for those that start processes (tests/deployment)."""

from __future__ import annotations

import json
import stat
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from fedbn.errors import FedbnWarning
from fedbn.federation.disclosure import Disclosure
from fedbn.federation.disclosure_log import append
from simulations.commands.update import update_and_report
from tests.simulations.conftest import Fedbn

HERE = ("--engine", "in-process", "--json")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_keys_are_what_flower_wants_and_private(fedbn: Fedbn, tmp_path: Path) -> None:
    hosts = ("--host", "flower.example.org", "--host", "192.0.2.7", "--host", "::1")
    files = fedbn("keys", "k", *hosts, "--site", "north", "--json").json["files"]
    assert len(files) == 12
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "k").iterdir()}
    assert {name for name, mode in modes.items() if mode == 0o600} == {
        "ca.key",
        "server.key",
        "superlink.key",
        "superlink.executor.key",
        "north.key",
        "north.executor.key",
    }
    authority = x509.load_pem_x509_certificate((tmp_path / "k/ca.pem").read_bytes())
    server = x509.load_pem_x509_certificate((tmp_path / "k/server.pem").read_bytes())
    server.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["flower.example.org"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.7", "::1"]
    behind = x509.load_pem_x509_certificate((tmp_path / "k/superlink.pem").read_bytes())
    behind.verify_directly_issued_by(authority)
    names = behind.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "superlink"]
    assert behind.public_key() != server.public_key()
    private = load_ssh_private_key((tmp_path / "k/north.key").read_bytes(), None)
    public = load_ssh_public_key((tmp_path / "k/north.pub").read_bytes())
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert isinstance(private.curve, ec.SECP384R1)
    assert private.public_key() == public


def test_a_renewed_certificate_is_of_the_same_authority_and_names(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    fedbn("keys", "k", "--host", "localhost", "--host", "127.0.0.1", "--site", "north")
    before = {path.name: path.read_bytes() for path in (tmp_path / "k").iterdir()}
    assert "neither --host" in fedbn("keys", "k", "--renew-server", "--host", "x").error
    assert fedbn("keys", "k", "--renew-server").status == 0
    changed = {n for n, data in before.items() if (tmp_path / "k" / n).read_bytes() != data}
    assert changed == {"server.pem", "server.key", "superlink.pem", "superlink.key"}
    ca, old, new = (
        x509.load_pem_x509_certificate(data)
        for data in (
            before["ca.pem"],
            before["server.pem"],
            (tmp_path / "k/server.pem").read_bytes(),
        )
    )
    new.verify_directly_issued_by(ca)
    kind = x509.SubjectAlternativeName
    assert new.extensions.get_extension_for_class(kind) == old.extensions.get_extension_for_class(
        kind
    )
    days = [(each.not_valid_after_utc - each.not_valid_before_utc).days for each in (ca, new)]
    assert days == [3650, 365]


def test_keys_are_never_overwritten(fedbn: Fedbn, tmp_path: Path) -> None:
    fedbn("keys", "k", "--host", "localhost", "--site", "north")
    before = {path.name: path.read_bytes() for path in (tmp_path / "k").iterdir()}
    assert "never overwritten" in fedbn("keys", "k", "--host", "localhost").error
    assert "never overwritten" in fedbn("keys", "k", "--site", "south", "--site", "north").error
    assert {path.name: path.read_bytes() for path in (tmp_path / "k").iterdir()} == before
    assert fedbn("keys", "k", "--site", "south").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name the keys"),
        (("--site", "a/b"), "'a/b'"),
        (("--site", "ca"), "'ca'"),
        (("--site", "superlink"), "'superlink'"),
        (("--site", "north", "--site", "north.executor"), "'north.executor'"),
        (("--host", "a", "--listen", "9600"), "like 127.0.0.1:9600, not '9600'"),
        (("--host", "a", "--superlink", "b:1; x"), "not 'b:1; x'"),
        (("--site", "a", "--site", "a"), "a name of its own"),
        (("--host", "not a host"), "'not a host'"),
    ],
)
def test_wrong_keys_are_one_line(fedbn: Fedbn, arguments: tuple[str, ...], words: str) -> None:
    assert words in fedbn("keys", "k", *arguments).error
    assert not Path("k").exists()


def test_an_app_has_the_settings_of_the_run(fedbn: Fedbn, tmp_path: Path) -> None:
    assert fedbn("app", "run", "--set", "out-dir=results/x", "--set", "min-replies=3").status == 0
    project = tomllib.loads((tmp_path / "run" / "pyproject.toml").read_text())
    config = project["tool"]["flwr"]["app"]["config"]
    assert (config["out-dir"], config["min-replies"]) == (str(tmp_path / "results/x"), 3)
    assert config["network"] == "none"
    assert (tmp_path / "run" / "clients" / "client_app.py").is_file()
    assert "there already" in fedbn("app", "run").error
    assert "did you mean 'seed'" in fedbn("app", "other", "--set", "sed=3").error


@pytest.fixture
def tables(fedbn: Fedbn, tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{name}.csv" for name in ("east", "north", "south")]
    for seed, path in enumerate(paths):
        fedbn("sample", "survey", "--rows", 400, "--seed", seed, "--out", path)
    return paths


def published(folder: str) -> dict[str, bytes]:
    names = ("consensus.json", "consensus.csv", "path.csv", "edges.csv", "schema.json")
    return {name: (Path(folder) / name).read_bytes() for name in names}


@pytest.mark.slow
def test_one_client_more_or_fewer_equals_the_run_with_these_from_the_start(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path
) -> None:
    law = ("--schema", tmp_path / "states.json")
    content = {"A": ["adult", "old", "young"], "E": ["high", "uni"], "O": ["emp", "self"]}
    content |= {"R": ["big", "small"], "S": ["F", "M"], "T": ["car", "other", "train"]}
    (tmp_path / "states.json").write_text(json.dumps(content))
    fedbn("simulate", "--sites", *tables, *law, *HERE, "--out", "three")
    fedbn("simulate", "--sites", *tables[:2], *law, *HERE, "--out", "two")
    fewer = fedbn("update", "three", "--remove", "south", "--json").json
    assert (fewer["clients"], fewer["out"]) == (["east", "north"], str(tmp_path / "three-updated"))
    assert published("three-updated") == published("two")
    fedbn("learn", "south.csv", "--schema", "two/schema.json", "--out", "south.json")
    assert fedbn("update", "two", "--add", "south.json", "--out", "more", "--quiet").status == 0
    assert published("more") == published("three")
    assert published("two") == published("three-updated")


def test_wrong_updates_are_one_line(fedbn: Fedbn, tables: list[Path]) -> None:
    fedbn("simulate", "--sites", *tables, *HERE, "--out", "three")
    Path("other.json").write_text('{"nodes": ["x"], "edges": []}')
    everyone = [part for name in ("east", "north", "south") for part in ("--remove", name)]
    for arguments, words in [
        (("three",), "name a change"),
        (("three", "--remove", "west"), "no client 'west' among east, north, south"),
        (("three", "--add", "other.json"), "other.json"),
        (("three", *everyone), "at least one client must stay"),
        (("nowhere", "--remove", "east"), "no result of a federated run"),
    ]:
        assert words in fedbn("update", *arguments).error
    assert not Path("three-updated").exists()


@pytest.mark.slow
def test_an_update_after_several_rounds_warns(fedbn: Fedbn, tables: list[Path]) -> None:
    fedbn("simulate", "--sites", *tables, "--rounds", 3, *HERE, "--out", "three")
    with pytest.warns(FedbnWarning, match="depend on all clients"):
        update_and_report(Path("three"), None, add=[], remove=["east"], as_json=False, quiet=True)


def test_disclosures_are_shown(fedbn: Fedbn, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    entry = Disclosure(
        time="2026-05-04T12:00:00.000+00:00",
        run="7",
        round=1,
        kind="train",
        records={"structures": ["edges", "header"]},
        bytes=1234,
        sha256="ab" * 32,
        words="1 DAG with 23 arcs over 37 variables",
        states={"smoke": ["no", "yes"]},
    )
    placed = json.loads(json.dumps(asdict(append(log, entry))))
    assert fedbn("disclosures", log, "--json").json == {"broken": "", "messages": [placed]}
    shown = fedbn("disclosures", log).out
    for words in (
        "left this site: 1, bytes: 1,234",
        "23 arcs over 37",
        "structures: edges, header",
        'smoke: ["no", "yes"]',
        "is as it was written: 1 lines",
    ):
        assert words in shown
    assert "cannot read" in fedbn("disclosures", tmp_path / "nowhere.jsonl").error
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert "is no disclosure log" in fedbn("disclosures", tmp_path / "table.csv").error
    log.write_text(log.read_text().replace("23 arcs", "22 arcs"))
    changed = fedbn("disclosures", log)
    assert (changed.status, "line 1 was changed" in changed.err) == (1, True)


@pytest.mark.slow
def test_an_interrupted_simulation_goes_on(
    fedbn: Fedbn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("simulate", "--network", "asia", "--clients", 4, "--rows", 100, "--seed", 2)
    fedbn(*options, "--rounds", 4, *HERE, "--out", "whole")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("simulations.commands.simulate.write_results", full)
        with pytest.raises(OSError, match="No space"):
            fedbn(*options, "--rounds", 2, *HERE, "--out", "parts")
    assert (tmp_path / "parts.checkpoint.json").is_file()
    again = fedbn(*options, "--rounds", 4, *HERE, "--out", "parts", "--resume")
    assert again.json["edges"] is not None
    assert published("parts") == published("whole")
    assert not (tmp_path / "parts.checkpoint.json").exists()
    assert "nothing to resume" in fedbn(*options, *HERE, "--out", "parts", "--resume").error


@pytest.mark.slow
def test_a_simulation_leaves_out_who_does_not_match(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "odd.csv").write_text("A,E\n" + "old,uni\nyoung,high\n" * 5)
    options = ("simulate", "--sites", *tables, "odd.csv", *HERE)
    assert "client 'odd' has no columns 'O', 'R', 'S' and 1 more" in fedbn(*options).error
    content = fedbn(*options, "--set", "on-mismatch=leave-out", "--out", "three").json
    assert [row["client"] for row in content["clients"]] == ["east", "north", "south"]
    assert [entry["client"] for entry in content["refused"]] == ["odd"]
    assert fedbn("simulate", "--sites", *tables, *HERE, "--out", "same").status == 0
    assert published("three") == published("same")
