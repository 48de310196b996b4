"""Certificates for the test API server and its clients, from an authority of the test."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority that writes PEM files into a folder. `ca`: the path of its certificate."""

    def __init__(self, folder: Path, name: str = "test-ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.ca = folder / f"{name}.crt"
        certificate = self._builder(self._name, self._key, authority=True).sign(self._key, hashes.SHA256())
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, hosts: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """Issue a certificate for a client, or for a server of these hosts. Return the paths (certificate, key)."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(name), key, authority=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), False)
        certificate = builder.sign(self._key, hashes.SHA256())
        paths = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return paths

    def server_context(self, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")) -> ssl.SSLContext:
        """Return the TLS context of a server that accepts clients with or without a certificate of this authority."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_cert_chain(*self.issue("server", hosts))
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, authority: bool) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        # Without AuthorityKeyIdentifier, as some distributions issue them: Go accepts that.
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
