"""What exactly-once is made of, as far as it needs no broker."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.protocol import codec, transaction_outcome, transaction_requests
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.oauth import token
from kafka_sql.kafka.protocol.sasl import conversation
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.kafka.protocol.transaction_requests import Described
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.digest import digest
from kafka_sql.sink.exactly_once.records import Claim, Decided, Decision, claims, decisions

PREFIXES = st.text(st.sampled_from("ab-t0"), min_size=1, max_size=12)


@given(st.integers(0, 2**35 - 1))
def test_numbers_of_varying_length(value: int) -> None:
    assert Reader(codec.uvarint(value)).uvarint() == value


def test_a_text_that_is_null() -> None:
    assert Reader(codec.string(None)).string() is None


@given(st.text(max_size=300))
def test_texts(text: str) -> None:
    assert Reader(codec.string(text)).string() == text
    assert Reader(codec.compact_string(text)).compact_string() == text


def test_a_response_that_ends_early_is_an_error() -> None:
    with pytest.raises(codec.BrokenAnswer, match="ends early"):
        Reader(codec.string("abc")[:-1]).string()


@pytest.mark.parametrize(
    ("last", "version", "body"),
    [
        (1, 1, b"\0\1x" + struct.pack(">qh?", 7, 2, True)),
        (4, 4, b"\2x" + struct.pack(">qh?", 7, 2, True) + b"\0"),
        (5, 4, b"\2x" + struct.pack(">qh?", 7, 2, True) + b"\0"),  # never version 5
    ],
)
def test_the_end_of_a_transaction_is_asked_at_version_4_at_most(last: int, version: int, body: bytes) -> None:
    request = transaction_requests.commit("x", 7, 2, last)
    assert (request.key, request.version, request.flexible, request.body) == (26, version, version >= 3, body)


def test_a_fence_names_the_epoch_that_it_is_for() -> None:
    request = transaction_requests.fence("x", Described("Ongoing", 7, 2, 60_000, 1, ()))
    body = b"\2x" + struct.pack(">iqh", 60_000, 7, 2) + b"\0"
    assert (request.key, request.version, request.flexible, request.body) == (22, 3, True, body)


@given(PREFIXES, PREFIXES)
def test_a_transactions_name_says_whose_it_is(prefix: str, other: str) -> None:
    run = transactional_ids.short("run")
    for made in (transactional_ids.incrementing(prefix, run, 3, 1, 17), transactional_ids.pooling(prefix, run, 3)):
        assert transactional_ids.run_of(prefix, made) == run
        if other != prefix:
            assert transactional_ids.run_of(other, made) is None


def test_a_pooled_name_is_used_once_a_batch_and_again_in_the_next() -> None:
    run = transactional_ids.short("pooled")
    first = [transactional_ids.pooling("p", run, 1) for _ in range(3)]
    assert len(set(first)) == 3
    assert [transactional_ids.pooling("p", run, 2) for _ in range(3)] == first


def test_records_of_the_log() -> None:
    one = Decided(0, 10, 99, "p-t-x", 5, 0, ("t", 1, 42))
    decision = Decision("p", "run", "query", "t", 7, (one, Decided(1, 1, 1, "p-t-y", 6, 0, None)))
    statement = Decision("p", "run", None, "t", None, (one,))
    mine = Claim("p", "run", "query", "t", "who", ("older",))
    log = {decision.key: decision.encoded(), statement.key: statement.encoded(), mine.key: mine.encoded()}
    assert decisions(log) == [decision, statement]
    assert claims(log) == {"p": mine}
    assert all(isinstance(json.loads(key), list) for key in log)


def batch(values: list[int], texts: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, pa.int64()), "b": pa.array(texts, pa.string())})


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=5)), min_size=1, max_size=300))
def test_equal_rows_have_equal_digests(rows: list[tuple[int, str | None]]) -> None:
    one, two = (batch([a for a, _ in rows], [b for _, b in rows]) for _ in range(2))
    assert digest(one) == digest(two)
    changed = batch([rows[0][0] ^ 1, *(a for a, _ in rows[1:])], [b for _, b in rows])
    assert digest(changed) != digest(one)


def test_the_order_of_batches_counts() -> None:
    one, two = batch([1], ["x"]), batch([2], ["y"])
    assert digest(two, digest(one)) != digest(one, digest(two))
    assert digest(batch(list(range(2000)), [None] * 2000)) != digest(batch(list(range(2000))[::-1], [None] * 2000))


def answer(stable: int, aborted: list[tuple[int, int]], base: int, delta: int, producer: int, size: int = 61) -> Reader:
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
        (answer(20, [], 10, 4, 7), Outcome.COMMITTED),
        (answer(20, [(7, 10)], 10, 4, 7), Outcome.ABORTED),
        (answer(20, [(8, 10), (7, 15)], 10, 4, 7), Outcome.COMMITTED),  # others, and a later one of the same producer
        (answer(10, [], 10, 4, 7), Outcome.OPEN),
        (answer(20, [], 11, 4, 7), Outcome.GONE),  # compacted away
        (answer(20, [], 10, 4, 8), Outcome.GONE),  # the topic was made anew
        (answer(20, [], 10, 4, 7, size=0), Outcome.GONE),
    ],
)
def test_what_became_of_a_transaction(reader: Reader, expected: Outcome) -> None:
    assert transaction_outcome.seen(reader, 0, 10, 7) == (0, expected)


def test_scram_as_in_its_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7677, section 3."""
    nonce = "rOprNGfwEbeRWgbNEkqO"
    monkeypatch.setattr("os.urandom", lambda _: base64.b64decode(nonce))
    talk = conversation({"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "user", "sasl.password": "pencil"}, "h")
    assert next(talk) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert talk.send(first) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        talk.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    talk = conversation({"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}, "h")
    nonce = next(talk).decode().partition("r=")[2]
    talk.send(f"r={nonce}x,s={base64.b64encode(b'salt').decode()},i=4096".encode())
    forged = base64.b64encode(hmac.digest(b"x", b"y", hashlib.sha512)).decode()
    with pytest.raises(BrokerError, match="does not know the password"):
        talk.send(f"v={forged}".encode())


def test_an_unsecured_token() -> None:
    made = token({"sasl.oauthbearer.config": "principal=me scope=a,b lifeSeconds=60"})
    head, claims_, signature = made.split(".")
    found = json.loads(base64.urlsafe_b64decode(claims_ + "=="))
    assert (head, signature) == (base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("="), "")
    assert (found["sub"], found["scope"], found["exp"] - found["iat"]) == ("me", ["a", "b"], 60)
