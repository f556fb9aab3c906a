"""What all sites of a run under secure sums are told before the first sum, and its id.

The id binds every mask to the run, the schema, the settings and the roster: sites that were told
different things have masks that do not cancel.

The server relays the sites' public keys, so it could put keys of its own in their place. Against
that a site may have an identity, an Ed25519 key, with which it signs its public key of the run; who
knows the others' identities refuses a roster in which one of them is missing, unknown or not
signed. A run without is safe from a curious server that keeps to the protocol, and is called so.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from fedbn.bounded_file import json_value
from fedbn.errors import ConfigError, MessageError, PolicyError
from fedbn.wire.texts import reader_of
from fedbn.wording import count_of

AGGREGATIONS = ("open", "secure-sums", "moral-votes")
"""Structures in the open; MCBNC on masked sums; moral votes alone, in one masked sum."""

CUT_POINTS = "cut-points"
"""What terms say that are about histograms, before there are structures."""

LABEL = b"fedbn secure sums 1"
IDENTITY = b"fedbn key of a run\n"


@dataclass(frozen=True)
class Member:
    """A site of the cohort: its name, its public key of this run (hex), and its signature (hex)."""

    name: str
    public: str
    signature: str = ""


@dataclass(frozen=True)
class Terms:
    """What the sums of a run are for.

    Attributes
    ----------
    run : its id.
    schema : hash of the agreed schema; of the columns, where cut points are to be found.
    aggregation : "secure-sums", "moral-votes" or "cut-points".
    units : what the weights of every site's DAGs sum to; 1 where each has one DAG.
    k_max, quorum : as in `secure_path`.
    poolings : "mean", "clip": one path each.
    members : the cohort, sorted by name and key.
    counts : how often counts of families may be asked for, after the votes.
    known : whether knowledge is kept: then G+ is no I-map, and votes are on all pairs.
    columns : where sites have different ones, those that each member answers for, by their numbers
        in the schema, ascending; else empty.
    min_judges : see `fedbn.consensus.mcbnc`.
    """

    run: str
    schema: str
    aggregation: str
    units: int
    k_max: int
    quorum: int
    poolings: tuple[str, ...]
    members: tuple[Member, ...]
    counts: int = 0
    known: bool = False
    columns: tuple[tuple[int, ...], ...] = ()
    min_judges: int = 1

    @property
    def session(self) -> bytes:
        """The id that is in every request: SHA-256 of all of the terms."""
        return hashlib.sha256(LABEL + self.to_text().encode("utf-8")).digest()

    @property
    def roster(self) -> tuple[bytes, ...]:
        """The public keys, in the order of the members."""
        return tuple(bytes.fromhex(member.public) for member in self.members)

    def place_of(self, public: bytes) -> int:
        """The place of the member with this key; raises PolicyError where there is none."""
        if public not in self.roster:
            raise PolicyError("cohort", "this site's own key is not in the roster")
        return self.roster.index(public)

    def block_of(self, public: bytes) -> tuple[Member, ...]:
        """The members that answer for the same columns as the one with this key."""
        place = self.place_of(public)
        if not self.columns:
            return self.members
        own = self.columns[place]
        pairs = zip(self.members, self.columns, strict=True)
        return tuple(member for member, columns in pairs if columns == own)

    def to_text(self) -> str:
        """The terms as canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Terms:
        """The inverse of `to_text`; raises MessageError for anything else."""
        try:
            terms: Terms = reader_of(cls)(json_value(text))
            ranked = sorted(terms.members, key=lambda member: (member.name, member.public))
            whole = terms.to_text() == text and list(terms.members) == ranked
            whole = whole and all(len(key) == 32 for key in terms.roster)
            whole = whole and len(terms.columns) in (0, len(terms.members))
            whole = whole and all(
                list(own) == sorted({v for v in own if v >= 0}) for own in terms.columns
            )
        except ValueError as error:
            raise MessageError(f"the terms of secure sums must be well formed: {error!r}") from None
        if not whole or terms.aggregation not in (*AGGREGATIONS[1:], CUT_POINTS):
            raise MessageError("the terms of secure sums must be in their canonical form")
        return terms


def signed_key(identity: bytes, run: str, name: str, public: bytes) -> bytes:
    """A site's word that this is its key in a run.

    Parameters
    ----------
    identity : an Ed25519 private key in OpenSSH's format, without a password.
    run, name, public : the run, the name that the others know, and the key of the run.

    Raises
    ------
    ConfigError : the identity is no such key.
    """
    try:
        key: Any = load_ssh_private_key(identity, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError("an identity-key must be an Ed25519 private key in OpenSSH's format")
    return key.sign(_signed_text(run, name, public))


def identity_key(text: str) -> Ed25519PublicKey:
    """The public key that a peer is known by: one line, as in a .pub file; raises ConfigError."""
    try:
        key: Any = load_ssh_public_key(text.encode("utf-8"))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigError(f"a peer must be an Ed25519 public key in OpenSSH's format, not {text!r}")
    return key


def identity_of(member: Member, run: str, key: Ed25519PublicKey) -> bool:
    """Whether a member's key of the run was signed by the identity `key`."""
    try:
        message = _signed_text(run, member.name, bytes.fromhex(member.public))
        key.verify(bytes.fromhex(member.signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed_text(run: str, name: str, public: bytes) -> bytes:
    return IDENTITY + json.dumps([run, name, public.hex()]).encode("ascii")


def require_cohort(
    terms: Terms,
    own_key: bytes,
    *,
    min_cohort: int,
    peers: Mapping[str, str] | None,
    earlier: Sequence[frozenset[str]] = (),
) -> None:
    """Let a site take part only with the others that it wants.

    Where sites have different columns its cohort are those that answer for the same ones: no sum is
    of a part of these (`fedbn.secure.blocks`).

    Parameters
    ----------
    terms : as the server told them.
    own_key : the site's public key of this run.
    min_cohort : fewest sites, this one among them.
    peers : name -> public key of every other site that there may and must be; None: anybody.
    earlier : the cohorts in which this site has taken part before.

    Raises
    ------
    PolicyError : "min-cohort", "cohort" (somebody is missing, unknown, not signed or in the roster
        twice) or "cohort-changed": an earlier cohort differs by fewer than `min_cohort` members,
        but not by none, so that the difference of two sums is the sum over those few.
    """
    often = Counter(member.name for member in terms.members)
    twice = sorted(name for name, count in often.items() if count > 1)
    if twice:
        raise PolicyError("cohort", f"{twice[0]!r:.60} is in the roster more than once")
    names = [member.name for member in terms.block_of(own_key)]
    if len(names) < min_cohort:
        alike = " with these columns" if terms.columns else ""
        raise PolicyError(
            "min-cohort", f"{count_of(len(names), 'site')}{alike}, at least {min_cohort} wanted"
        )
    if peers is not None:
        _require_peers(terms, own_key, peers)
    now = frozenset(names)
    for before in earlier:
        for alone in (before - now, now - before):
            if 0 < len(alone) < min_cohort:
                raise PolicyError(
                    "cohort-changed", f"an earlier cohort differs by {', '.join(sorted(alone))}"
                )


def _require_peers(terms: Terms, own_key: bytes, peers: Mapping[str, str]) -> None:
    others = [m for m in terms.members if bytes.fromhex(m.public) != own_key]
    different = sorted({member.name for member in others} ^ set(peers))
    if different:
        raise PolicyError("cohort", f"{different[0]!r} is not both in the roster and a peer")
    for member in others:
        if not identity_of(member, terms.run, identity_key(peers[member.name])):
            raise PolicyError("cohort", f"the key of {member.name!r} is not signed by that peer")
