"""Who wrote a courier's file: the deployment's own keys, as they sign and as they are checked.

The server signs its requests with the key of its TLS certificate, and the certificate goes with
them. A site holds it against the federation's authority and the server's name, as its SuperNode
does, so a renewed certificate needs nothing at the sites. A site signs its replies with the key
that its SuperNode would have; the server has the public half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from fedbn.bounded_file import MAX_SETTINGS, read_bounded
from fedbn.errors import ConfigError, MessageError, system_errors_as

PublicKey = EllipticCurvePublicKey


@dataclass(frozen=True)
class Signer:
    """A private EC key, and the PEM text of the certificate that goes with its signatures: the
    server's; empty for a site."""

    key: EllipticCurvePrivateKey
    certificate: str = ""

    def sign(self, data: bytes) -> bytes:
        """ECDSA with SHA-384."""
        return self.key.sign(data, ECDSA(hashes.SHA384()))


@dataclass(frozen=True)
class Authority:
    """By what a site knows its server: the file ca.pem of the federation's authority, and the name
    or IP address in the server's certificate."""

    file: Path
    server: str

    def server_key(self, certificate: str, now: datetime) -> PublicKey:
        """The key of a certificate; raises MessageError unless it is this server's, today, and
        ConfigError where the authority cannot be read or the server's name is none."""
        try:
            root = x509.load_pem_x509_certificate(_read(self.file))
        except ValueError:
            raise ConfigError(f"{self.file} must be the certificate of an authority") from None
        policy = PolicyBuilder().store(Store([root])).time(now)
        try:
            leaf = x509.load_pem_x509_certificate(certificate.encode("utf-8"))
            policy.build_server_verifier(_subject(self.server)).verify(leaf, [])
            key = leaf.public_key()
        except (ValueError, VerificationError, UnsupportedAlgorithm) as error:
            reason = str(error).split(" (encountered")[0] or "no certificate"
            raise MessageError(
                f"the request must come with a certificate for {self.server} by the authority of "
                f"{self.file}: {reason}"
            ) from None
        if not isinstance(key, PublicKey):
            raise MessageError("the server's key must be an EC key")
        return key


def server_signer(folder: Path) -> Signer:
    """The server's key and certificate; raises ConfigError unless they are in the folder."""
    key = _private_key(load_pem_private_key, folder / "server.key")
    return Signer(key, _read(folder / "server.pem").decode("utf-8", "replace"))


def site_signer(path: Path) -> Signer:
    """A site's NAME.key; raises ConfigError unless it is an EC key without a password."""
    return Signer(_private_key(load_ssh_private_key, path))


def public_line(path: Path) -> str:
    """The line of a site's NAME.pub; raises ConfigError unless it is an EC public key."""
    line = _read(path).decode("utf-8", "replace").strip()
    try:
        public_key(line)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return line


def public_key(line: str) -> PublicKey:
    """The key of such a line; raises ConfigError."""
    try:
        key: Any = load_ssh_public_key(line.encode("utf-8"))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, PublicKey):
        raise ConfigError("a site's public key must be an EC key in OpenSSH's format")
    return key


def fingerprint(key: PublicKey) -> str:
    """SHA-256 (hex) of a public key."""
    data = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(data).hexdigest()


def is_signed(key: PublicKey, signature: bytes, data: bytes) -> bool:
    """Whether the signature is that of the key's owner."""
    try:
        key.verify(signature, data, ECDSA(hashes.SHA384()))
    except InvalidSignature:
        return False
    return True


def _private_key(load: Callable[[bytes, None], Any], path: Path) -> EllipticCurvePrivateKey:
    try:
        key = load(_read(path), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ConfigError(f"{path} must be an EC private key without a password")
    return key


def _subject(server: str) -> x509.IPAddress | x509.DNSName:
    try:
        return x509.IPAddress(ip_address(server))
    except ValueError:
        pass
    try:
        return x509.DNSName(server)
    except ValueError:
        raise ConfigError(f"{server!r} must be the server's name or IP address") from None


def _read(path: Path) -> bytes:
    with system_errors_as(ConfigError, f"cannot read {path}"):
        return read_bounded(path, MAX_SETTINGS)
