"""Test malicious and malformed option values: they raise an error that names the option, within bounded time."""

from __future__ import annotations

import hashlib
import struct
import time

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from kafka_sql.errors import InvalidOptionError, OptionError, TransactionError
from kafka_sql.kafka.config.jaas import parse_jaas
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.options.option import parse_duration, parse_memory_size
from kafka_sql.options.positions import parse_specific_offsets
from kafka_sql.options.secret_references import has_reference, is_reference, resolve
from kafka_sql.sink.exactly_once.records import parse_claims, parse_decisions
from kafka_sql.stores.errors import UnreadableStore
from kafka_sql.stores.kdf_limits import check_iterations
from kafka_sql.stores.pem import parse_certificates
from kafka_sql.stores.store import trusted_certificates
from tests.certificates import STORE_PASSWORD, create_authority

SERVERS = {"bootstrap.servers": "localhost:9092"}
SIZE = 100_000


@pytest.mark.parametrize("text", ["a\0b", "\0", "a\ud800"])
def test_nul_and_surrogates_are_rejected(text: str) -> None:
    with pytest.raises(
        InvalidOptionError,
        match=r"Invalid value of option 'properties.client.id': it contains a NUL or a lone surrogate",
    ):
        to_librdkafka({**SERVERS, "client.id": text})
    with pytest.raises(InvalidOptionError, match="Invalid name of option"):
        to_librdkafka({**SERVERS, f"x{text}": "1"})


@pytest.mark.parametrize("value", ["²", "٥", "9" * 5000, "0x10", "1_000", "+-5", "5 ms", "-5", "${env:HOME}"])
@pytest.mark.parametrize(
    "option", ["socket.connection.setup.timeout.ms", "delivery.timeout.ms", "transaction.timeout.ms"]
)
def test_invalid_numbers(option: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"'properties.{option}'"):
        to_librdkafka({**SERVERS, option: value})


@pytest.mark.parametrize("value", ["²", "٥", "9" * 5000])
@pytest.mark.parametrize("option", ["buffer.memory", "max.in.flight.requests.per.connection", "fetch.max.bytes"])
def test_invalid_numbers_of_client_properties(option: str, value: str) -> None:
    with pytest.raises(OptionError):
        to_librdkafka({**SERVERS, option: value})


@pytest.mark.parametrize("text", ["9" * 5000, "9223372036854775808", "9223372036854775807 s", "١٠", "١٠ s", "1 d d"])
def test_durations_and_sizes_that_overflow_long(text: str) -> None:
    for read in (parse_duration, parse_memory_size):
        with pytest.raises(ValueError, match="expected a"):
            read(text)


def test_largest_durations_and_sizes() -> None:
    assert parse_duration(" 0009223372036854775807 MS ") == 2**63 - 1
    assert parse_memory_size("8388607 tb") == 8388607 << 40


@pytest.mark.parametrize("text", [f"partition:0,offset:{'9' * 5000}", f"partition:{'9' * 5000},offset:1"])
def test_offsets_that_overflow_long(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="should follow the format"):
        parse_specific_offsets(text, "k")


LONG_VALUES = {
    "open references": "${" * SIZE,
    "colons": "${" + ":" * SIZE,
    "open with colons": "${a:" * SIZE,
    "without a colon": "${a}" * SIZE,
    "closed at the end": "${" * SIZE + "}",
}


@pytest.mark.parametrize("text", LONG_VALUES.values(), ids=LONG_VALUES.keys())
def test_references_are_parsed_in_linear_time(text: str) -> None:
    start = time.process_time()
    assert not has_reference(text)
    assert not is_reference(text)
    assert resolve(text, "o") == text
    assert time.process_time() - start < 20


@pytest.mark.parametrize("part", ["/* ", "${", "// \n", '"', "'", "a=", "=", "\\"])
def test_jaas_is_parsed_in_linear_time(part: str) -> None:
    start = time.process_time()
    with pytest.raises(InvalidOptionError):
        parse_jaas("x.PlainLoginModule required " + part * (SIZE // len(part)))
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "part", ["-----BEGIN A-----", "-----BEGIN CERTIFICATE-----\n", "-----END A-----", "-----BEGIN "]
)
def test_pem_is_parsed_in_linear_time(part: str) -> None:
    start = time.process_time()
    with pytest.raises(UnreadableStore):
        parse_certificates(part * (SIZE * 10 // len(part)))
    assert time.process_time() - start < 20


def test_a_truncated_certificate_before_others_is_an_error() -> None:
    certificate = create_authority("a").pem
    with pytest.raises(UnreadableStore, match="it is truncated"):
        parse_certificates(certificate[:100] + certificate)
    with pytest.raises(UnreadableStore, match="it is truncated"):
        parse_certificates(certificate + certificate[:100])


@pytest.mark.parametrize(
    ("rounds", "is_allowed"), [(65_536, True), (5_000_000, True), (5_000_001, False), (8_388_607, False)]
)
def test_stores_with_too_many_iterations(rounds: int, is_allowed: bool) -> None:
    authority = create_authority("a")
    encryption = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(100_000).build(STORE_PASSWORD.encode())
    data = serialize_key_and_certificates(b"a", authority.private_key, authority.certificate, None, encryption)
    changed = data.replace(b"\x02\x03\x01\x86\xa0", b"\x02\x03" + rounds.to_bytes(3, "big"))
    assert changed != data
    if is_allowed:
        check_iterations(changed)
        return
    for read in (check_iterations, lambda store: trusted_certificates(store, STORE_PASSWORD)):
        with pytest.raises(UnreadableStore, match="more than 5,000,000 iterations"):
            read(changed)


def test_a_jks_alias_with_surrogates() -> None:
    authority = create_authority("a")
    der = authority.certificate.public_bytes(Encoding.DER)
    alias = b"\xed\xa0\xbd\xed\xb8\x80"  # Java writes surrogate pairs as two characters
    body = b"\xfe\xed\xfe\xed" + struct.pack(">II", 2, 1) + struct.pack(">I", 2)
    body += struct.pack(">H", len(alias)) + alias + bytes(8) + b"\0\x05X.509" + struct.pack(">I", len(der)) + der
    sealed = body + hashlib.sha1(STORE_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    assert trusted_certificates(sealed, STORE_PASSWORD) == authority.pem


def test_a_jks_with_an_invalid_certificate() -> None:
    body = b"\xfe\xed\xfe\xed" + struct.pack(">II", 2, 1) + struct.pack(">I", 2)
    body += b"\0\x01a" + bytes(8) + b"\0\x05X.509" + struct.pack(">I", 3) + b"abc"
    with pytest.raises(UnreadableStore, match="certificate 1 of 1 is damaged"):
        trusted_certificates(body + bytes(20), None)


@pytest.mark.parametrize("key", ["x", "[]", "{}", "5", '["decision"]', '["claim", "p"]'])
@pytest.mark.parametrize("value", [b"x", b"[]", b"{}", b"\x78\x9c\x03\x00", b"[" * 100_000])
def test_foreign_records_in_the_decision_log(key: str, value: bytes) -> None:
    with pytest.raises(TransactionError, match="which this package did not write"):
        (parse_decisions if "claim" not in key else parse_claims)({key: value})
