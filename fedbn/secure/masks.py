"""Masks that cancel in the sum over all sites of a cohort (Bonawitz et al. 2017, without dropouts).

Every two sites agree on a key (X25519, then HKDF-SHA256). For a round, the key and the digest of
the request give a stream of words (ChaCha20), of 16, 32 or 64 bits as the sum needs; the site that
comes first in the roster adds it to its vector, the other subtracts it, modulo the word. So one
site's masked vector is noise to whoever lacks one of its keys, and the sum over all sites is the
sum of their vectors.

Sites that were shown different requests have masks that do not cancel: their sum is noise, too. The
same request gives the same bytes again; a changed one under the same number other masks. Nobody may
be missing: there is no way to take one site's masks out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedbn.arrays import Ints, Masked
from fedbn.errors import MessageError

Word = np.unsignedinteger
SIGNED = {np.dtype(f"u{kind}"): np.dtype(kind) for kind in ("int16", "int32", "int64")}
"""The words that a masked vector may have, and how their sums are read."""

PAIR, STREAM, PRESENCE = (b"fedbn " + use for use in (b"pair key", b"mask", b"presence"))


class Key:
    """A site's key of one run.

    Attributes
    ----------
    private, public : 32 bytes each.
    """

    def __init__(self, private: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private)
        self.private = private
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> Key:
        """A new key, from the system's randomness: no run's seed has a say in it."""
        return cls(X25519PrivateKey.generate().private_bytes_raw())

    def secret_with(self, public: bytes) -> bytes:
        """The secret that this key and another's public one share; raises MessageError."""
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise MessageError(f"{public.hex()} is no public key") from None


class Pair(NamedTuple):
    """The key shared with one other site, and whether its stream is added or subtracted."""

    key: bytes
    adds: bool


def pair_keys(key: Key, roster: Sequence[bytes], session: bytes) -> tuple[Pair, ...]:
    """The keys that a site shares with all others of a cohort.

    Parameters
    ----------
    key : the site's own.
    roster : the public keys of all sites, its own among them, in the order that all were told.
    session : the id of the run, which binds the keys to it.

    Raises
    ------
    MessageError : its own key is not there exactly once, or another is twice or no key.
    """
    if len(set(roster)) < len(roster) or roster.count(key.public) != 1:
        raise MessageError("a roster must hold every site's key once, one's own among them")
    own = roster.index(key.public)
    return tuple(
        Pair(
            _derive(
                key.secret_with(public),
                salt=session,
                info=PAIR + min(key.public, public) + max(key.public, public),
            ),
            adds=own < place,
        )
        for place, public in enumerate(roster)
        if place != own
    )


def request_digest(request: bytes) -> bytes:
    """SHA-256 of a request's canonical bytes, which hold session and round."""
    return hashlib.sha256(request).digest()


def mask(
    values: Ints, pairs: Sequence[Pair], digest: bytes, word: type[Word] = np.uint64
) -> Masked:
    """The vector as it leaves a site.

    Parameters
    ----------
    values : int64 [L], whatever they count.
    pairs : from `pair_keys`.
    digest : of the request that is answered.
    word : the type of what leaves, wide enough for the sum over all sites (`words.word_of`).

    Returns
    -------
    `word` [L]: values + masks, modulo 2^16, 2^32 or 2^64.
    """
    out = values.astype(word)  # numpy wraps whole numbers
    for pair in pairs:
        stream = _words(_derive(pair.key, salt=digest, info=STREAM), len(out), word)
        out = out + stream if pair.adds else out - stream
    return out


def hide(presence: Ints, key: Key, digest: bytes) -> Ints:
    """0 where `presence` is 0, elsewhere a word that only this site knows, never 0.

    The sum over sites is 0 where none has the thing, else 0 with probability 2^-64; it does not
    tell how many have it.
    """
    words = _words(_derive(key.private, salt=digest, info=PRESENCE), len(presence), np.uint64)
    words = np.where(words == 0, np.uint64(1), words)
    return np.where(presence != 0, words, np.uint64(0)).view(np.int64)


def unmasked_sum(parts: Sequence[Masked]) -> Ints:
    """The sum of the vectors of all sites, int64 [L], from what they sent.

    Raises
    ------
    MessageError : there is none, they differ in type or length, or are no words.
    """
    first = parts[0] if parts else np.empty(0)
    alike = all((part.dtype, part.shape) == (first.dtype, first.shape) for part in parts)
    if first.dtype not in SIGNED or not alike:
        raise MessageError("a sum needs a masked vector from every site, all of one length")
    total = np.zeros_like(first)
    for part in parts:
        total += part
    return total.view(SIGNED[total.dtype]).astype(np.int64)


def _derive(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(secret)


def _words(key: bytes, count: int, word: type[Word]) -> Masked:
    """The first words of a key's stream; the nonce is zero, as every key is used once."""
    encryptor = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    little = np.dtype(word).newbyteorder("<")
    return np.frombuffer(encryptor.update(bytes(little.itemsize * count)), little).astype(word)
