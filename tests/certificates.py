"""Create certificate authorities, certificates and Java key stores for tests."""

from __future__ import annotations

import datetime as dt
import ipaddress
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from kafka_sql.embedded.java import find_java
from tools.quick_java import FAST

STORE_PASSWORD = "store-password"
_DAY = dt.timedelta(days=1)


@dataclass
class CertificateAndKey:
    """A certificate, its private key, and its issuers."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey
    issuers: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def chain(self) -> str:
        """The certificate and its intermediate certificates as PEM."""
        return self.pem + "".join(c.public_bytes(Encoding.PEM).decode() for c in self.issuers)

    def key(self, password: str | None = None, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
        """Return the private key as PEM, optionally encrypted."""
        encryption: KeySerializationEncryption = NoEncryption()
        if password is not None:
            encryption = BestAvailableEncryption(password.encode())
        return self.private_key.private_bytes(Encoding.PEM, form, encryption).decode()

    def p12(self, password: str = STORE_PASSWORD) -> bytes:
        """Return key and chain as PKCS12."""
        encryption = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(
            b"me", self.private_key, self.certificate, self.issuers, encryption
        )


def create_authority(name: str, issuer: CertificateAndKey | None = None) -> CertificateAndKey:
    """Create an authority: a root, or an intermediate one of ``issuer``."""
    return _create(name, issuer, is_authority=True)


def sign_certificate(
    issuer: CertificateAndKey, name: str, host: str | None = None, days: tuple[int, int] = (-1, 30)
) -> CertificateAndKey:
    """Create a certificate for a client, or for a server on localhost.

    Args:
        host: the host name, instead of localhost and 127.0.0.1.
        days: the start and the end of the validity, relative to today.
    """
    return _create(name, issuer, host=host, days=days)


def _create(
    name: str,
    issuer: CertificateAndKey | None,
    is_authority: bool = False,
    host: str | None = None,
    days: tuple[int, int] = (-1, 30),
) -> CertificateAndKey:
    private_key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.timezone.utc)
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    if host is not None:
        names = [x509.DNSName(host)]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(private_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * _DAY)
        .not_valid_after(now + days[1] * _DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private_key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    if issuer is not None:
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.private_key.public_key())
        builder = builder.add_extension(issuer_key, critical=False)
    if is_authority:
        usage = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
        )
        builder = builder.add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, decipher_only=False, **usage),
            critical=True,
        )
    signing_key = private_key if issuer is None else issuer.private_key
    is_issuer_root = issuer is None or (not issuer.issuers and issuer.certificate.issuer == issuer.certificate.subject)
    issuers = () if issuer is None or is_issuer_root else (issuer.certificate, *issuer.issuers)
    return CertificateAndKey(builder.sign(signing_key, hashes.SHA256()), private_key, issuers)


def keytool(*arguments: str | Path) -> None:
    """Run Java's keytool, with which users create stores."""
    fast = (f"-J{option}" for option in FAST)
    command = [str(Path(find_java()).with_name("keytool")), *fast, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def create_trust_store(file: Path, owner: CertificateAndKey, store_type: str, password: str = STORE_PASSWORD) -> Path:
    """Create a trust store with keytool.

    Args:
        store_type: JKS or PKCS12.
    """
    certificate = file.with_suffix(".cer")
    certificate.write_text(owner.pem)
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", certificate, "-keystore", file,
            "-storetype", store_type, "-storepass", password)  # fmt: skip
    return file


def create_jks_store(file: Path, owner: CertificateAndKey, key_password: str = STORE_PASSWORD) -> Path:
    """Create a JKS key store with keytool. The password of its key may differ from that of the store."""
    source = file.with_suffix(".p12")
    source.write_bytes(owner.p12())
    keytool("-importkeystore", "-noprompt", "-srckeystore", source, "-srcstoretype", "PKCS12",
            "-srcstorepass", STORE_PASSWORD, "-destkeystore", file, "-deststoretype", "JKS",
            "-deststorepass", STORE_PASSWORD, "-srcalias", "me", "-destkeypass", key_password)  # fmt: skip
    return file
