"""Certificate authorities and what they sign, and Java's stores of them, for tests."""

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

STORE = "store-password"
_DAY = dt.timedelta(days=1)


@dataclass
class Party:
    """A certificate, its key, and those who signed it."""

    certificate: x509.Certificate
    private: ec.EllipticCurvePrivateKey
    signers: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The certificate."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def chain(self) -> str:
        """The certificate and those between it and its authority."""
        return self.pem + "".join(c.public_bytes(Encoding.PEM).decode() for c in self.signers)

    def key(self, password: str | None = None, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
        """The private key as PEM."""
        lock: KeySerializationEncryption = NoEncryption()
        if password is not None:
            lock = BestAvailableEncryption(password.encode())
        return self.private.private_bytes(Encoding.PEM, form, lock).decode()

    def p12(self, password: str = STORE) -> bytes:
        """Key and chain as PKCS12."""
        lock = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"me", self.private, self.certificate, self.signers, lock)


def authority(name: str, by: Party | None = None) -> Party:
    """An authority: a root, or one that another has signed."""
    return _party(name, by, is_authority=True)


def signed(by: Party, name: str, host: str | None = None, days: tuple[int, int] = (-1, 30)) -> Party:
    """A certificate for a client, or for a server of a host name besides localhost and 127.0.0.1.

    Args:
        host: another name instead of those.
        days: from when and until when, from today.
    """
    return _party(name, by, host=host, days=days)


def _party(
    name: str,
    by: Party | None,
    is_authority: bool = False,
    host: str | None = None,
    days: tuple[int, int] = (-1, 30),
) -> Party:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.timezone.utc)
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    if host is not None:
        names = [x509.DNSName(host)]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * _DAY)
        .not_valid_after(now + days[1] * _DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    if by is not None:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.private.public_key())
        made = made.add_extension(issuer, critical=False)
    if is_authority:
        usage = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
        )
        made = made.add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, decipher_only=False, **usage),
            critical=True,
        )
    signer = private if by is None else by.private
    chain = (
        ()
        if by is None or (not by.signers and by.certificate.issuer == by.certificate.subject)
        else (
            by.certificate,
            *by.signers,
        )
    )
    return Party(made.sign(signer, hashes.SHA256()), private, chain)


def keytool(*arguments: str | Path) -> None:
    """Run Java's keytool, which makes stores as users have them."""
    command = [str(Path(find_java()).with_name("keytool")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def trust_store(file: Path, party: Party, kind: str, password: str = STORE) -> Path:
    """A trust store of ``kind`` (JKS, PKCS12) made by keytool."""
    certificate = file.with_suffix(".cer")
    certificate.write_text(party.pem)
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", certificate, "-keystore", file,
            "-storetype", kind, "-storepass", password)  # fmt: skip
    return file


def jks(file: Path, party: Party, key_password: str = STORE) -> Path:
    """A JKS key store made by keytool, whose key may have a password of its own."""
    source = file.with_suffix(".p12")
    source.write_bytes(party.p12())
    keytool("-importkeystore", "-noprompt", "-srckeystore", source, "-srcstoretype", "PKCS12", "-srcstorepass", STORE,
            "-destkeystore", file, "-deststoretype", "JKS", "-deststorepass", STORE, "-srcalias", "me",
            "-destkeypass", key_password)  # fmt: skip
    return file
