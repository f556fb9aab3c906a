"""A site's executor: the installed app for its own bundle, a refusal for every other."""

from __future__ import annotations

import io
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

import fedbn
from fedbn.errors import ConfigError
from fedbn.federation.disclosure_log import head_of, read_log
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from simulations.deployment.executor import answer, serve, site_config
from simulations.deployment.pin import bundle_digest, refusal_of
from simulations.flower.bundle import bundle_of, write_bundle
from simulations.flower.folder_run import settings_of

NOT_OURS = f"the bundle's client app is not that of this site's fedbn {fedbn.__version__}"
UNREADABLE = "the bundle cannot be read"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `fedbn app` writes."""
    folder = tmp_path_factory.mktemp("bundle") / "app"
    write_bundle(folder, to_run_config(Experiment.of(rounds_limit=2)))
    return folder


@pytest.fixture
def changed(app: Path, tmp_path: Path) -> Callable[[str, str, str], bytes]:
    """The bundle with one text replaced in one file, which may be new."""

    def change(file: str, old: str, new: str) -> bytes:
        folder = tmp_path / "changed"
        shutil.copytree(app, folder)
        (folder / file).parent.mkdir(exist_ok=True)
        text = (folder / file).read_text() if (folder / file).exists() else ""
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
        return bundle_of(folder)

    return change


def test_a_bundle_with_the_installed_app_is_taken(
    app: Path, changed: Callable[[str, str, str], bytes]
) -> None:
    assert refusal_of(bundle_of(app)) == ""
    assert refusal_of(changed("pyproject.toml", "rounds-limit = 2", "rounds-limit = 3")) == ""


def test_the_bundle_of_a_simulation_has_its_nodes_and_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "app", to_run_config(Experiment.of(network="asia")))
    bundle = bundle_of(tmp_path / "app")
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        rooms = {Path(name).parent.as_posix() for name in archive.namelist() if name[-3:] == ".py"}
    assert rooms == {"clients", "server", "simulations", "simulations/sites"}
    assert refusal_of(bundle) == "the bundle's client app must be clients.client_app:app"
    config = {"network": "asia"}
    assert settings_of(tmp_path / "app", config).data.network == "asia"
    write_bundle(tmp_path / "deployed", to_run_config(Experiment()))
    with pytest.raises(ConfigError, match="was written for deployed sites"):
        settings_of(tmp_path / "deployed", config)


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("clients/client_app.py", '"""', 'import os; os.remove("x")\n"""', NOT_OURS),
        ("clients/door.py", "FAILED", "FAILES", NOT_OURS),
        ("clients/more.py", "", "x = 1\n", NOT_OURS),
        ("clients/deeper/more.py", "", "x = 1\n", NOT_OURS),
        ("pyproject.toml", "clients.client_app:app", "other:app", "must be clients.client_app:app"),
        ("pyproject.toml", "clientapp = ", "no = ", UNREADABLE),
        ("pyproject.toml", "[project]", "[[project", UNREADABLE),
    ],
)
def test_any_other_bundle_is_refused(
    app: Path, tmp_path: Path, file: str, old: str, new: str, reason: str
) -> None:
    parts = {"clients/__init__.py": b""}
    with zipfile.ZipFile(io.BytesIO(bundle_of(app))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    text = parts.get(file, b"").decode()
    assert old in text
    assert reason in refusal_of(zipped({**parts, file: text.replace(old, new, 1).encode()}))


def zipped(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_what_is_no_bundle_is_refused(app: Path) -> None:
    whole = bundle_of(app)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    fewer = {name: part for name, part in parts.items() if name != "clients/site.py"}
    assert refusal_of(zipped(fewer)) == NOT_OURS
    assert refusal_of(zipped({**parts, "pyproject.toml": b"\xff"})) == UNREADABLE
    assert refusal_of(zipped({**parts, "pyproject.toml": b"tool = 3"})) == UNREADABLE
    bomb = {**parts, "clients/site.py": b"\0" * (1 << 26)}
    assert refusal_of(zipped(bomb)) == NOT_OURS
    for broken in (b"", b"PK", whole[:-30], whole[40:], bytes(1000)):
        assert refusal_of(broken) == UNREADABLE
    for place in range(0, len(whole), 997):
        spoilt = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        assert refusal_of(spoilt) in ("", NOT_OURS, UNREADABLE) or "must be" in refusal_of(spoilt)


def test_twice_the_same_file_in_a_bundle_is_refused(app: Path) -> None:
    """Which of the two would be run is up to whoever reads them."""
    stream = io.BytesIO(bundle_of(app))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("clients/site.py", archive.read("clients/site.py"))
    assert refusal_of(stream.getvalue()) == NOT_OURS


def test_a_site_can_name_its_bundles(app: Path, changed: Callable[[str, str, str], bytes]) -> None:
    bundle = bundle_of(app)
    assert refusal_of(bundle, [bundle_digest(bundle)]) == ""
    other = changed("pyproject.toml", "rounds-limit = 2", "rounds-limit = 3")
    assert "none of those" in refusal_of(other, [bundle_digest(bundle)])


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "north.csv").write_text("a,b\n" + "1,2\n2,1\n" * 20)
    (tmp_path / "north.toml").write_text('name = "north"\ntable = "north.csv"\n')
    return tmp_path / "north.toml"


def answered(site: Path, bundle: bytes, **node: str) -> Message:
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 2
    message = Message(RecordDict(), 2, "query")
    message.metadata.__dict__["_message_id"] = "1"
    context = Context(7, 2, site_config(site), RecordDict(), to_run_config(Experiment()))
    return answer(message, context, bundle)


def test_a_refused_bundle_is_neither_run_nor_written_and_the_notice_is_logged(
    site: Path, changed: Callable[[str, str, str], bytes], tmp_path: Path
) -> None:
    touched = tmp_path / "touched"
    code = f"from pathlib import Path\nPath({str(touched)!r}).touch()\n"
    bundle = changed("clients/__init__.py", "", code)
    before, modules = set(tmp_path.iterdir()), set(sys.modules)
    reply = answered(site, bundle)
    assert reply.error.code == 7
    assert reply.error.reason == f"refused by this site: {NOT_OURS}"
    log = tmp_path / "north.csv.disclosures.jsonl"
    assert {path.name for path in set(tmp_path.iterdir()) - before} == {
        log.name,
        head_of(log).name,
    }
    assert set(sys.modules) == modules
    (entry,) = read_log(log).entries
    assert entry.run == "7"
    assert NOT_OURS in entry.words


def test_the_site_s_file_says_table_and_policy(site: Path, app: Path) -> None:
    bundle = bundle_of(app)
    table = site.with_name("north.csv")
    assert answered(site, bundle).error.reason == "refused by this site's policy: contract"
    renew(table, read_site_file(site))
    assert '"a"' in answered(site, bundle).content["schema"]["text"]
    site.write_text(site.read_text() + "[policy]\nmin-rows = 100\n")
    assert answered(site, bundle).error.reason == "refused by this site's policy: contract"
    renew(table, read_site_file(site), confirmed=True)
    assert answered(site, bundle).error.reason == "refused by this site's policy: min-rows"
    site.write_text('table = "north.csv"\nbundles = ["' + "0" * 64 + '"]\n')
    assert "none of those" in str(answered(site, bundle).error.reason)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must name its table"),
        ('table = "nowhere.csv"', "nowhere.csv must be a file"),
        ('table = "north.csv"\nmin-rows = 3', "belongs under"),
        ('table = "north.csv"\nbundles = ["abc"]', "64 hexadecimal digits, not 'abc'"),
    ],
)
def test_an_executor_begins_with_a_right_file_only(site: Path, text: str, words: str) -> None:
    site.write_text(text)
    with pytest.raises(ConfigError, match=words):
        serve(site, "127.0.0.1:1", None)


def test_an_executor_needs_its_secret_and_an_address(site: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the secret"):
        serve(site, "127.0.0.1:1", site.with_name("nowhere.key"))
    site.with_name("empty.key").write_bytes(b"")
    with pytest.raises(ConfigError, match="must not be empty"):
        serve(site, "127.0.0.1:1", site.with_name("empty.key"))
    with pytest.raises(ConfigError, match="must be like"):
        serve(site, "here", None)
