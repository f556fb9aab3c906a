"""Keys and certificates of a deployment: for the server's TLS, and one key pair per site.

    ca.pem, ca.key               the federation's own certificate authority; sites need ca.pem only
    server.pem, server.key       the front's certificate for the server's host names and addresses
    superlink.pem, superlink.key the SuperLink's, behind the front: for localhost alone
    superlink.executor.key       what the process that runs server apps shows the SuperLink
    Caddyfile, nginx.conf        the front's configuration (`simulations.deployment.front`)
    NAME.key, NAME.pub           a site's key pair: EC P-384 in OpenSSH's format, as Flower wants it
    NAME.executor.key            what the process that runs client apps shows the site's SuperNode

Private files have mode 0600 and leave the machine only by hand. Nothing is overwritten, but by
`renew_server` the two servers' own: their certificates are valid for a year, the authority's for
ten, so that no site needs a new ca.pem when the server does.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedbn.errors import ConfigError, ResultsError
from fedbn.whole_file import replace_file
from simulations.deployment.front import INSIDE, Front

AUTHORITY_DAYS = 3650
"""How long the certificate authority is valid."""

_SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED = ("ca", "server", "superlink")
_EXECUTOR = ".executor"
_BEHIND = (INSIDE, "127.0.0.1", "superlink")
"""Names of the SuperLink for who is on its machine, or in its network of containers."""

Key = ec.EllipticCurvePrivateKey


def make_keys(
    folder: Path,
    hosts: Sequence[str],
    sites: Sequence[str],
    days: int = 365,
    *,
    front: Front | None = None,
) -> tuple[Path, ...]:
    """Write the files above; returns their paths.

    Without hosts only the sites' keys are made, for sites that join later.

    Parameters
    ----------
    folder : made if it is not there.
    hosts : names and IP addresses under which the sites reach the server.
    sites : names of the sites.
    days : how long the servers' certificates are valid.
    front : its addresses; by default those of `simulations.deployment.front`.

    Raises
    ------
    ConfigError : a name cannot be that of a file, a host is none, or there is nothing to make.
    ResultsError : a file is there already, or cannot be written; then nothing was written.
    """
    for site in sites:
        if not _SITE_NAME.fullmatch(site) or site in _RESERVED or site.endswith(_EXECUTOR):
            raise ConfigError(f"a site's name must be like 'north-2' (a file's name), not {site!r}")
    if len(set(sites)) < len(sites):
        raise ConfigError("every site needs a name of its own")
    contents: dict[str, bytes] = {}
    if hosts:
        contents |= _certificates(hosts, days)
        contents |= (front or Front(hosts[0])).files()
    for site in sites:
        contents |= _site_keys(site)
    if not contents:
        raise ConfigError("name the keys to make: --host for the server's, --site for a site's")
    return _write(folder, contents)


def renew_server(folder: Path, days: int = 365) -> tuple[Path, ...]:
    """New keys and certificates for front and SuperLink, for the same names; returns their paths.

    The authority stays, so no site has to do anything. It needs ca.key, which is kept offline.

    Raises
    ------
    ResultsError : the folder does not hold a deployment's ca.pem, ca.key and certificates, or
        cannot be written.
    """
    try:
        authority = load_pem_private_key((folder / "ca.key").read_bytes(), None)
        issuer = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes()).subject
        contents: dict[str, bytes] = {}
        for name in ("server", "superlink"):
            old = x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
            names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            hosts = [str(each.value) for each in names]
            contents |= _server_keys(name, hosts, cast(Key, authority), issuer, days)
        for file, content in contents.items():
            mode = 0o600 if file.endswith(".key") else 0o644
            replace_file(folder / file, content, mode=mode)
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise ResultsError(
            f"the server's certificate in {folder} is not renewed: {error}"
        ) from None
    return tuple(folder / file for file in contents)


def _certificates(hosts: Sequence[str], days: int) -> dict[str, bytes]:
    authority, title = _new_key(), _title("fedbn certificate authority")
    root = (
        _certificate(title, title, authority, max(days, AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signing=False, certificates=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False
        )
        .sign(authority, hashes.SHA384())
    )
    return {
        "ca.pem": root.public_bytes(Encoding.PEM),
        "ca.key": _private(authority, PrivateFormat.PKCS8),
        **_server_keys("server", hosts, authority, title, days),
        **_server_keys("superlink", _BEHIND, authority, title, days),
        f"superlink{_EXECUTOR}.key": _secret(),
    }


def _server_keys(
    name: str, hosts: Sequence[str], authority: Key, issuer: x509.Name, days: int
) -> dict[str, bytes]:
    """A server's certificate for the hosts, and its private key."""
    key = _new_key()
    names = [_general_name(host) for host in hosts]
    leaf = (
        _certificate(_title(hosts[0][:64]), issuer, key, days)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signing=True, certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
        .sign(authority, hashes.SHA384())
    )
    return {
        f"{name}.pem": leaf.public_bytes(Encoding.PEM),
        f"{name}.key": _private(key, PrivateFormat.PKCS8),
    }


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Key, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # a site's clock may be slow
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signing: bool, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=signing,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", host):
        raise ConfigError(f"a host must be a name or an IP address, not {host!r}")
    return x509.DNSName(host)


def _title(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _site_keys(site: str) -> dict[str, bytes]:
    key = _new_key()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return {
        f"{site}.key": _private(key, PrivateFormat.OpenSSH),
        f"{site}.pub": public + b" " + site.encode() + b"\n",
        f"{site}{_EXECUTOR}.key": _secret(),
    }


def _secret() -> bytes:
    """256 random bits, as Flower's `--superexec-auth-secret-file` reads them."""
    return secrets.token_hex(32).encode()


def _new_key() -> Key:
    return ec.generate_private_key(ec.SECP384R1())


def _private(key: Key, form: PrivateFormat) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def _write(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    paths = [folder / name for name in contents]
    for path in paths:
        if path.exists():
            raise ResultsError(f"{path} is there already: keys are never overwritten")
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents.values(), strict=True):
            mode = 0o600 if path.suffix == ".key" else 0o644
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(path)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise ResultsError(f"keys cannot be written to {folder}: {error.strerror}") from None
    return tuple(paths)
