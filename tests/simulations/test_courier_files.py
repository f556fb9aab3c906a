"""Wrong files on the ways of a courier run: one clear line each, status 1, and nothing changed."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError, MessageError
from fedbn.federation.courier_file import (
    CourierReply,
    CourierRequest,
    open_sealed,
    reply_in,
    request_in,
    seal,
)
from fedbn.federation.courier_keys import Signer, server_signer, site_signer
from fedbn.federation.settings import Experiment
from server.courier_records import flower_records, plain_records
from simulations.deployment.courier_site import answer
from simulations.deployment.keys import make_keys
from tests.deployment.couriers import SERVER, Couriers, write_tables
from tests.simulations.conftest import Fedbn

ONCE = Experiment.of(min_replies=2)


class Carried:
    """A run whose first requests are answered and not taken, and files of another run."""

    def __init__(self, folder: Path) -> None:
        tables = write_tables(folder / "tables")
        self.couriers = Couriers(folder, tables, folder / "tables" / "states.json")
        self.couriers.begin(ONCE)
        for site in self.couriers.sites:
            self.couriers.answer(site)
        self.other = folder / "server" / "other"
        first, self.couriers.run = self.couriers.run, self.other
        self.couriers.begin(ONCE)
        self.other_reply = answer(self.couriers.request("north"), self.couriers.file("north")).data
        self.other_request = (self.other / "requests" / "north-0001.request.fedbn").read_bytes()
        self.couriers.run = first
        self.request = (first / "requests" / "north-0001.request.fedbn").read_bytes()
        self.reply = self.couriers.reply("north").read_bytes()
        self.stranger = Signer(ec.generate_private_key(ec.SECP384R1()))
        make_keys(folder / "strange", [SERVER], ["north"])

    def site(self, name: str = "north") -> Signer:
        return site_signer(self.couriers.keys / f"{name}.key")

    @property
    def server(self) -> Signer:
        return server_signer(self.couriers.keys)

    def asked(self) -> CourierRequest:
        return request_in(open_sealed(self.couriers.folder / "north" / self.name, "request"))

    name = "north-0001.request.fedbn"

    def said(self) -> CourierReply:
        return reply_in(open_sealed(self.couriers.reply("north"), "reply"))

    def request_with(self, **changes: object) -> bytes:
        """A request that the server has signed."""
        return seal("request", replace(self.asked(), **changes).to_body(), self.server)

    def reply_with(self, by: str = "north", **changes: object) -> bytes:
        """A reply that a site has signed."""
        return seal("reply", replace(self.said(), **changes).to_body(), self.site(by))


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    return Carried(tmp_path_factory.mktemp("carried"))


def edit(data: bytes) -> bytes:
    """One bit of the last part is another one."""
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


Wrong = Callable[[Carried], bytes]

REPLIES: dict[str, tuple[Wrong, str]] = {
    "torn": (lambda c: c.reply[:-7], "is incomplete: "),
    "torn in its head": (lambda c: c.reply[:60], "is incomplete or changed: its second line"),
    "empty": (lambda c: b"", "is no file of a courier run"),
    "a byte edited": (lambda c: edit(c.reply), "not as a site of this run signed it"),
    "another key": (
        lambda c: seal("reply", c.said().to_body(), c.stranger),
        "not as a site of this run signed it",
    ),
    "another site's": (lambda c: c.reply_with(by="south"), "says 'north', but south signed it"),
    "of another run": (lambda c: c.other_reply, "is of run "),
    "to another request": (
        lambda c: c.reply_with(request="0" * 64),
        "answers another request 1 than this run has sent to north",
    ),
    "to a request to come": (lambda c: c.reply_with(number=9), "answers another request 9"),
    "old version": (
        lambda c: c.reply.replace(b"courier 1", b"courier 0", 1),
        "is of another version (fedbn courier 0 reply)",
    ),
    "a request": (lambda c: c.request, "is a request, here goes a reply"),
    "a pickle": (lambda c: pickle.dumps({"run": 1}), "is no file of a courier run"),
    "too deep": (
        lambda c: seal("reply", b"[" * 100_000, c.site()),
        "is no reply: JSON must not be nested so deeply",
    ),
    "another key of JSON": (
        lambda c: seal("reply", b'{"run":"1"}', c.site()),
        "is no reply: it must have the keys run, number",
    ),
    "a key twice": (
        lambda c: seal("reply", b'{"run":"1","run":"2"}', c.site()),
        "a key must occur once",
    ),
    "no record of Flower's": (
        lambda c: c.reply_with(records={"schema": {"values": {"a": [[1]]}}}),
        "a record must be one of Flower's: ",
    ),
    "no number": (lambda c: seal("reply", b'{"run":NaN}', c.site()), "NaN is no number"),
}

REQUESTS: dict[str, tuple[Wrong, str]] = {
    "torn": (lambda c: c.request[:-7], "is incomplete: "),
    "a byte edited": (lambda c: edit(c.request), f"not as {SERVER} signed it: it was changed"),
    "old version": (
        lambda c: c.request.replace(b"courier 1", b"courier 0", 1),
        "is of another version (fedbn courier 0 request)",
    ),
    "a reply": (lambda c: c.reply, "is a reply, here goes a request"),
    "another site's": (
        lambda c: (c.couriers.run / "requests" / "east-0001.request.fedbn").read_bytes(),
        "is for site 'east', whose key is not ",
    ),
    "of another server": (
        lambda c: seal(
            "request", c.asked().to_body(), server_signer(c.couriers.folder / "strange")
        ),
        f"must come with a certificate for {SERVER} by the authority of",
    ),
    "of somebody with a site's key": (
        lambda c: seal("request", c.asked().to_body(), replace(c.server, key=c.site().key)),
        f"not as {SERVER} signed it",
    ),
    "without a certificate": (
        lambda c: seal("request", c.asked().to_body(), c.site()),
        f"must come with a certificate for {SERVER}",
    ),
    "swapped": (
        lambda c: c.request_with(kind="train"),
        "is another request 1 of run ",
    ),
    "with other settings": (
        lambda c: c.request_with(number=2, settings={**c.asked().settings, "score": "bic"}),
        "had another score in its first request",
    ),
    "with another end": (
        lambda c: c.request_with(number=2, until="2999-01-01T00:00:00+00:00"),
        "had its end on ",
    ),
    "ended": (
        lambda c: c.request_with(until="2020-01-01T00:00:00+00:00"),
        "ended on 2020-01-01",
    ),
    "of another fedbn": (
        lambda c: c.request_with(fedbn="0.0.1"),
        "is of fedbn 0.0.1, this site has ",
    ),
    "with a path for a run": (
        lambda c: c.request_with(run="../../x"),
        "a run and a request must have numbers",
    ),
    "without a time zone": (
        lambda c: c.request_with(until="2999-01-01T00:00:00"),
        "'until' must have a time zone",
    ),
    "with a list for a setting": (
        lambda c: c.request_with(settings={"sites": ["a"]}),
        "setting 'sites' must be text, a number or a boolean",
    ),
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


@pytest.mark.parametrize("case", REPLIES)
def test_a_wrong_reply_is_refused_in_one_line(
    case: str, carried: Carried, fedbn: Fedbn, tmp_path: Path
) -> None:
    make, words = REPLIES[case]
    before, file = files_of(carried.couriers.run), tmp_path / "reply.fedbn"
    file.write_bytes(make(carried))
    good = carried.couriers.reply("east")
    line = fedbn("courier", "continue", carried.couriers.run, good, file).error
    assert str(file) in line
    assert words in line
    assert files_of(carried.couriers.run) == before


@pytest.mark.parametrize("case", REQUESTS)
def test_a_wrong_request_is_refused_in_one_line(
    case: str, carried: Carried, fedbn: Fedbn, tmp_path: Path
) -> None:
    make, words = REQUESTS[case]
    place, file = carried.couriers.folder / "north", tmp_path / "request.fedbn"
    before = files_of(place)
    file.write_bytes(make(carried))
    out = tmp_path / "reply.fedbn"
    site = carried.couriers.file("north")
    line = fedbn("site", "answer", file, "--site", site, "--out", out).error
    assert words in line
    assert str(file) in line or "certificate" in line
    assert not out.exists()
    assert files_of(place) == before


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_byte_of_a_file_can_be_another_one(carried: Carried, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(("request", "reply")))
    whole = carried.request if kind == "request" else carried.reply
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    file = carried.couriers.folder / "changed.fedbn"
    file.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
    key = (carried.server if kind == "request" else carried.site()).key.public_key()
    with suppress(MessageError):
        assert not open_sealed(file, kind).is_by(key)


SCALARS = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**62), 2**62),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.binary(max_size=5),
)
ARRAYS = st.builds(
    Array,
    dtype=st.sampled_from(("float64", "uint8")),
    shape=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    stype=st.just("numpy.ndarray"),
    data=st.binary(max_size=20),
)
KEYS = st.text(max_size=4)
VALUES = st.one_of(
    SCALARS, st.lists(st.integers(-9, 9), max_size=3), st.lists(st.binary(max_size=3), max_size=3)
)
RECORDS = st.dictionaries(
    KEYS,
    st.one_of(
        st.dictionaries(KEYS, VALUES, max_size=3).map(ConfigRecord),
        st.dictionaries(KEYS, ARRAYS, max_size=3).map(ArrayRecord),
    ),
    max_size=3,
).map(RecordDict)


@settings(max_examples=40)
@given(RECORDS)
def test_records_are_read_as_they_were_written(records: RecordDict) -> None:
    read = flower_records(json.loads(json.dumps(plain_records(records))), "a file")
    assert read == records
    for name, record in records.items():
        assert list(map(type, read[name].values())) == list(map(type, record.values()))


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"values": 1},
        {"values": {"a": {"b": 1}}},
        {"values": {"a": {"base64": "é"}}},
        {"values": {"a": [1, "x"]}},
        {"values": {"a": None}},
        {"values": {}, "arrays": {}},
        {"arrays": {"a": []}},
        {"arrays": {"a": {"dtype": "uint8", "shape": [-1], "stype": "s", "data": ""}}},
        {"arrays": {"a": {"dtype": "uint8", "shape": 1, "stype": "s", "data": ""}}},
        {"arrays": {"a": {"dtype": 8, "shape": [1], "stype": "s", "data": ""}}},
        {"arrays": {"a": {"dtype": "uint8", "shape": [1], "stype": "s"}}},
        {"arrays": {"a": {"dtype": "uint8", "shape": [1], "stype": "s", "data": 3}}},
        [1],
        None,
    ],
)
def test_what_is_no_record_is_refused_with_the_file(record: object) -> None:
    with pytest.raises(MessageError, match="^north: a record must be one of Flower's"):
        flower_records({"a": record}, "north")


def test_a_reply_is_taken_once_and_another_one_to_the_same_request_is_refused(
    tmp_path: Path, fedbn: Fedbn
) -> None:
    couriers = Carried(tmp_path).couriers
    reply = couriers.reply("east")
    assert "taken: east-0001" in fedbn("courier", "continue", couriers.run, reply).out
    assert "taken:" not in fedbn("courier", "continue", couriers.run, reply).out
    said = reply_in(open_sealed(reply, "reply"))
    signer = site_signer(couriers.keys / "east.key")
    second = tmp_path / "second.fedbn"
    second.write_bytes(seal("reply", said.to_body(), signer))  # signed anew: other bytes
    line = fedbn("courier", "continue", couriers.run, second).error
    assert "is a second reply of east to request 1: the first counts" in line
    again = tmp_path / "again.fedbn"
    shutil.copy(couriers.reply("north"), again)
    twice = tmp_path / "twice.fedbn"
    north = reply_in(open_sealed(again, "reply"))
    twice.write_bytes(seal("reply", north.to_body(), site_signer(couriers.keys / "north.key")))
    line = fedbn("courier", "continue", couriers.run, again, twice).error
    assert "are two replies of north to one request" in line
    status = fedbn("courier", "status", couriers.run, "--json").json
    assert [each["site"] for each in status["awaited"]] == ["north", "south"]
    assert [each["site"] for each in status["answered"]] == ["east"]


STARTS: dict[str, tuple[str, str]] = {
    "no sites": ('learner = "ges"', "the run must name its sites, each once"),
    "a site twice": ('couriers = ["north", "north"]', "the run must name its sites, each once"),
    "an unknown site": ('couriers = ["west"]', "west.pub: No such file"),
    "a path": ('couriers = ["../north"]', "a courier's name must be that of its key"),
    "tables": ('couriers = ["north"]\nnetwork = "asia"', "have their own tables: drop network"),
    "too few": ('couriers = ["north"]\nmin-replies = 2', "min-replies is 2, but there are 1 cour"),
    "resumed": ('couriers = ["north"]\nresume = true', "drop checkpoint and resume"),
    "elsewhere": ('couriers = ["north"]\ncheckpoint = "c"', "drop checkpoint and resume"),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_wrong_run_is_not_begun(
    case: str, carried: Carried, fedbn: Fedbn, tmp_path: Path
) -> None:
    text, words = STARTS[case]
    (tmp_path / "run.toml").write_text(text)
    keys = carried.couriers.keys
    command = ("courier", "start", tmp_path / "run.toml", "--dir", tmp_path / "run")
    assert words in fedbn(*command, "--keys", keys).error
    assert not (tmp_path / "run").exists()


def test_a_folder_and_keys_must_be_there(carried: Carried, fedbn: Fedbn, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('couriers = ["north"]')
    start = ("courier", "start", tmp_path / "run.toml", "--dir")
    assert "name the folder of the keys" in fedbn(*start, tmp_path / "run").error
    keys = ("--keys", carried.couriers.keys)
    assert "must be a new folder" in fedbn(*start, carried.couriers.run, *keys).error
    assert "there is no courier run in" in fedbn("courier", "continue", tmp_path).error
    assert "there is no courier run in" in fedbn("courier", "status", tmp_path).error
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "courier.json").write_text('{"run": ')
    assert "is not as it was written" in fedbn("courier", "status", torn).error
    couriers = carried.couriers
    plain = couriers.folder / "north" / "plain.toml"
    plain.write_text('name = "north"\ntable = "north.csv"\n')
    request = couriers.folder / "north" / carried.name
    assert (
        "[courier] with key, authority" in fedbn("site", "answer", request, "--site", plain).error
    )
    plain.write_text('table = "north.csv"\n[courier]\nkey = "north.key"\n')
    assert "it lacks 'authority'" in fedbn("site", "answer", request, "--site", plain).error
    assert (
        "--without must be one of"
        in fedbn("courier", "continue", couriers.run, "--without", "x").error
    )
    assert (
        "a run's id must be a number"
        in fedbn("site", "forget", "../x", "--site", couriers.file("north")).error
    )


def test_another_process_goes_on_meanwhile(carried: Carried) -> None:
    from server.courier_folder import open_folder

    with (
        open_folder(carried.couriers.run),
        pytest.raises(ConfigError, match="another process goes on with"),
        open_folder(carried.couriers.run),
    ):
        pass
    assert carried.couriers.state().awaited
