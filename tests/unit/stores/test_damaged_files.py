"""Files that look like stores: truncated PEM, other DER files, and key derivations that would take hours."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from kafka_sql.stores.errors import UnreadableStore, catch_rust_panic
from kafka_sql.stores.kdf_limits import check_iterations
from kafka_sql.stores.pem import parse_certificates
from kafka_sql.stores.store import read_identity, trusted_certificates
from tests.certificates import create_authority

AUTHORITY = create_authority("root")
MAXIMUM = 5_000_000  # iterations


def der(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content


def key_derivation(iterations: int) -> bytes:
    """Return a salt and an iteration count, in the structure of a PKCS12 store."""
    parameters = der(0x30, der(0x04, b"salt") + der(0x02, iterations.to_bytes(4, "big")))
    return der(0x30, der(0x02, b"\x03") + der(0x04, parameters))


def test_iterations_of_a_key_derivation_are_limited() -> None:
    check_iterations(key_derivation(MAXIMUM))
    with pytest.raises(UnreadableStore, match="more than 5,000,000 iterations"):
        check_iterations(key_derivation(MAXIMUM + 1))


def test_other_large_numbers_are_not_iterations() -> None:
    check_iterations(der(0x30, der(0x02, (MAXIMUM + 1).to_bytes(4, "big"))))


def test_a_truncated_block_after_a_complete_one() -> None:
    with pytest.raises(UnreadableStore, match="truncated"):
        parse_certificates(AUTHORITY.pem + "-----BEGIN CERTIFICATE-----\nMIIB")


def test_an_end_without_a_begin_is_text_between_blocks() -> None:
    assert len(parse_certificates(f"-----END CERTIFICATE-----\n{AUTHORITY.pem}")) == 1


def test_a_certificate_in_der_is_not_a_store() -> None:
    with pytest.raises(UnreadableStore, match="it is not a store: expected JKS, PKCS12 or PEM"):
        trusted_certificates(AUTHORITY.certificate.public_bytes(Encoding.DER), None)


def test_a_key_that_is_not_encrypted_needs_no_password() -> None:
    content = (AUTHORITY.key() + AUTHORITY.pem).encode()
    assert read_identity(content, None, "not needed") == read_identity(content, None, None)


class PanicException(BaseException):
    """Like the one of cryptography's Rust code."""


def test_only_panics_are_converted() -> None:
    with pytest.raises(UnreadableStore, match="damaged"), catch_rust_panic("damaged"):
        raise PanicException
    for other in (KeyboardInterrupt, ValueError):
        with pytest.raises(other), catch_rust_panic("damaged"):
            raise other
