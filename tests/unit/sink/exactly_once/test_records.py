"""Test the records of the decision log: decisions and claims."""

from __future__ import annotations

import json
import zlib

from kafka_sql.sink.exactly_once.records import Claim, DecidedTransaction, Decision, parse_claims, parse_decisions


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
