"""Building blocks of exactly-once writes that need no broker."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import struct
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.protocol import codec, transaction_outcome, transactions
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.oauth import unsecured_token
from kafka_sql.kafka.protocol.sasl import sasl_exchange
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.kafka.protocol.transactions import TransactionDescription
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.digest import digest
from kafka_sql.sink.exactly_once.records import Claim, DecidedTransaction, Decision, parse_claims, parse_decisions

PREFIXES = st.text(st.sampled_from("ab-t0"), min_size=1, max_size=12)


@given(st.integers(0, 2**35 - 1))
def test_uvarint_round_trip(value: int) -> None:
    assert Reader(codec.uvarint(value)).uvarint() == value


def test_null_string_round_trip() -> None:
    assert Reader(codec.string(None)).string() is None


@given(st.text(max_size=300))
def test_string_round_trip(text: str) -> None:
    assert Reader(codec.string(text)).string() == text
    assert Reader(codec.string(text, flexible=True), flexible=True).string() == text


def test_a_truncated_response_is_an_error() -> None:
    with pytest.raises(codec.MalformedResponse, match="ends early"):
        Reader(codec.string("abc")[:-1]).string()


@pytest.mark.parametrize(
    ("version", "flexible", "body"),
    [
        (0, False, b"\0\1x" + struct.pack(">qh?", 7, 2, True)),
        (4, True, b"\2x" + struct.pack(">qh?", 7, 2, True) + b"\0"),
    ],
)
def test_end_txn_uses_version_4_at_most(version: int, flexible: bool, body: bytes) -> None:
    request = transactions.end_txn("x", 7, 2, committed=True)
    assert (request.key, request.oldest, request.latest) == (26, 0, 4)  # never version 5
    assert (codec.is_flexible(request.key, version), request.encode(version, flexible)) == (flexible, body)


def test_init_producer_id_names_the_fenced_epoch() -> None:
    request = transactions.bump_producer_epoch("x", TransactionDescription("Ongoing", 7, 2, 60_000, 1, ()))
    body = b"\2x" + struct.pack(">iqh", 60_000, 7, 2) + b"\0"
    assert (request.key, request.oldest, request.encode(3, True)) == (22, 3, body)


@given(PREFIXES, PREFIXES)
def test_transactional_id_contains_prefix_and_run(prefix: str, other: str) -> None:
    run = transactional_ids.run_id("run")
    for name in (
        transactional_ids.incrementing_id(prefix, run, 3, 1, 17),
        transactional_ids.pooling_id(prefix, run, 3),
    ):
        assert transactional_ids.parse_run(prefix, name) == run
        if other != prefix:
            assert transactional_ids.parse_run(other, name) is None


def test_pooled_ids_are_used_once_per_batch_and_reused_in_the_next() -> None:
    run = transactional_ids.run_id("pooled")
    first = [transactional_ids.pooling_id("p", run, 1) for _ in range(3)]
    assert len(set(first)) == 3
    assert [transactional_ids.pooling_id("p", run, 2) for _ in range(3)] == first


def test_decision_log_records_round_trip() -> None:
    transaction = DecidedTransaction(0, 10, 99, "p-t-x", 5, 0, ("t", 1, 42))
    decision = Decision("p", "run", "query", "t", 7, (transaction, DecidedTransaction(1, 1, 1, "p-t-y", 6, 0, None)))
    statement_decision = Decision("p", "run", None, "t", None, (transaction,))
    claim = Claim("p", "run", "query", "t", "who", ("older",))
    log = {d.key: d.encode() for d in (decision, statement_decision, claim)}
    assert parse_decisions(log) == [decision, statement_decision]
    assert parse_claims(log) == {"p": claim}
    assert all(isinstance(json.loads(key), list) for key in log)


# records that earlier versions have written into the decision log
STORED = {
    '["decision", "p", "query", "t"]': (
        b'{"prefix":"p","run":"run","query":"query","topics":"t","batch":7,"transactions":['
        b'{"partition":0,"rows":10,"digest":99,"id":"p-t-x","producer":5,"epoch":0,"witness":["t",1,42]},'
        b'{"partition":1,"rows":1,"digest":1,"id":"p-t-y","producer":6,"epoch":0,"witness":null}],"accepted":false}'
    ),
    '["decision", "p", null, null]': (
        b'{"prefix":"p","run":"run","query":null,"topics":"t","batch":null,"transactions":['
        b'{"partition":0,"rows":10,"digest":99,"id":"p-t-x","producer":5,"epoch":0,"witness":["t",1,42]}],'
        b'"accepted":true}'
    ),
    '["claim", "p"]': (b'{"prefix":"p","run":"run","query":"query","topics":"t","who":"who","superseded":["older"]}'),
}


def test_stored_records_keep_their_format() -> None:
    """Another version must be able to read what this one writes, and the other way round."""
    transaction = DecidedTransaction(0, 10, 99, "p-t-x", 5, 0, ("t", 1, 42))
    decision = Decision("p", "run", "query", "t", 7, (transaction, DecidedTransaction(1, 1, 1, "p-t-y", 6, 0, None)))
    statement_decision = Decision("p", "run", None, "t", None, (transaction,), accepted=True)
    claim = Claim("p", "run", "query", "t", "who", ("older",))
    log = {key: value if "claim" in key else zlib.compress(value) for key, value in STORED.items()}
    assert parse_decisions(log) == [decision, statement_decision]
    assert parse_claims(log) == {"p": claim}
    encoded = {d.key: zlib.decompress(d.encode()) for d in (decision, statement_decision)}
    assert {**encoded, claim.key: claim.encode()} == STORED


def test_transactional_ids_keep_their_format() -> None:
    """Transactions of another version must be recognized."""
    run = transactional_ids.run_id("a run")
    assert run == "7666f0507e9b2d38"
    assert transactional_ids.driver_id("p") == "p-driver"
    assert transactional_ids.incrementing_id("p", run, 3, 1, 17) == f"p-t-{run}-3-1-17"
    assert re.fullmatch(rf"p-t-{run}-w[0-9a-f]{{12}}-0", transactional_ids.pooling_id("p", run, 3))


def batch(values: list[int], texts: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, pa.int64()), "b": pa.array(texts, pa.string())})


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=5)), min_size=1, max_size=300))
def test_equal_rows_have_equal_digests(rows: list[tuple[int, str | None]]) -> None:
    first, second = (batch([a for a, _ in rows], [b for _, b in rows]) for _ in range(2))
    assert digest(first) == digest(second)
    changed = batch([rows[0][0] ^ 1, *(a for a, _ in rows[1:])], [b for _, b in rows])
    assert digest(changed) != digest(first)


def test_digest_depends_on_the_order_of_batches() -> None:
    first, second = batch([1], ["x"]), batch([2], ["y"])
    assert digest(second, digest(first)) != digest(first, digest(second))
    assert digest(batch(list(range(2000)), [None] * 2000)) != digest(batch(list(range(2000))[::-1], [None] * 2000))


def fetch_response(
    stable: int, aborted: list[tuple[int, int]], base: int, delta: int, producer: int, size: int = 61
) -> Reader:
    header = bytearray(61)
    struct.pack_into(">q", header, 0, base)
    struct.pack_into(">i", header, 23, delta)
    struct.pack_into(">q", header, 43, producer)
    body = codec.pack("ii", 0, 1) + codec.string("t") + codec.pack("iihqq", 1, 0, 0, stable + 5, stable)
    body += codec.pack("i", len(aborted)) + b"".join(codec.pack("qq", *pair) for pair in aborted)
    return Reader(body + codec.data(bytes(header[:size])))


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (fetch_response(20, [], 10, 4, 7), Outcome.COMMITTED),
        (fetch_response(20, [(7, 10)], 10, 4, 7), Outcome.ABORTED),
        (
            fetch_response(20, [(8, 10), (7, 15)], 10, 4, 7),
            Outcome.COMMITTED,
        ),  # aborted: another producer's, and a later one of this producer
        (fetch_response(10, [], 10, 4, 7), Outcome.OPEN),
        (fetch_response(20, [], 11, 4, 7), Outcome.UNKNOWN),  # compacted
        (fetch_response(20, [], 10, 4, 8), Outcome.UNKNOWN),  # the topic was recreated
        (fetch_response(20, [], 10, 4, 7, size=0), Outcome.UNKNOWN),
    ],
)
def test_transaction_outcome_from_a_fetch_response(reader: Reader, expected: Outcome) -> None:
    assert transaction_outcome.parse_outcome(reader, 0, 10, 7) == (0, expected)


def test_scram_matches_the_example_in_its_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7677, section 3."""
    nonce = "rOprNGfwEbeRWgbNEkqO"
    monkeypatch.setattr("os.urandom", lambda _: base64.b64decode(nonce))
    exchange = sasl_exchange(
        {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "user", "sasl.password": "pencil"}, "h"
    )
    assert next(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    server_first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert exchange.send(server_first) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        exchange.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_broker_without_the_password_is_rejected() -> None:
    exchange = sasl_exchange({"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}, "h")
    nonce = next(exchange).decode().partition("r=")[2]
    exchange.send(f"r={nonce}x,s={base64.b64encode(b'salt').decode()},i=4096".encode())
    forged = base64.b64encode(hmac.digest(b"x", b"y", hashlib.sha512)).decode()
    with pytest.raises(BrokerError, match="could not prove that it knows the password"):
        exchange.send(f"v={forged}".encode())


def test_an_unsecured_oauth_token() -> None:
    encoded = unsecured_token({"sasl.oauthbearer.config": "principal=me scope=a,b lifeSeconds=60"})
    header, payload, signature = encoded.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert (header, signature) == (base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("="), "")
    assert (claims["sub"], claims["scope"], claims["exp"] - claims["iat"]) == ("me", ["a", "b"], 60)
