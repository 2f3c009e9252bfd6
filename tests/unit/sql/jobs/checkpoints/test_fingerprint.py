"""Test which changes of a query its checkpoint allows, and how other changes are described."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_sql.spark.plan import Expression, Operator
from kafka_sql.sql.jobs.checkpoints.checkpoint import describe_change
from kafka_sql.sql.jobs.checkpoints.fingerprint import (
    describe_aggregate,
    describe_materialization,
    describe_sink,
    describe_temporal_join,
    describe_written_rows,
    make_fingerprint,
)
from tests.unit.sql.jobs.plans import (
    aggregate,
    alias,
    binary,
    column,
    count_of,
    join,
    literal,
    project,
    source,
    table,
    where,
    window,
)

HOUR = 3_600_000_000
K, V, N, W = column("k", 1), column("v", 2), column("n", 9), column("window", 30)
SINK = table("out", "sink")


def fingerprint(plan: Operator, sink: Any = SINK, **sources: Any) -> dict[str, Any]:
    tables = {f"kafka.{name}": definition for name, definition in ({"src": table()} | sources).items()}
    result = make_fingerprint(plan, describe_sink(sink), tables)
    assert json.loads(json.dumps(result)) == result
    return result


def counts(*functions: Expression, keys: tuple[Expression, ...] = (K,), child: Operator | None = None) -> Operator:
    aliases = (alias(f, f"f{i}") for i, f in enumerate(functions or (count_of(literal(1)),)))
    child = source(k=1, v=2, ts=7) if child is None else child
    return aggregate(child, keys, *keys, *aliases)


def windows(size: int, slide: int, offset: int = 0) -> Operator:
    return counts(keys=(W, K), child=project(source(k=1, ts=7), alias(window(size, slide, offset), "window", 30), K))


def change(old: Operator, new: Operator) -> str | None:
    return describe_change(fingerprint(old), fingerprint(new))


def test_projections_and_filters_without_state_may_change() -> None:
    plain = project(source(k=1, v=2), alias(K, "k"))
    assert change(plain, where(project(source(k=5, v=6), alias(binary("Add", column("k", 5), V), "k")), N)) is None
    assert change(counts(), project(where(counts(child=where(source(k=1, v=2), V)), K), alias(K, "x"))) is None


def test_a_fingerprint_is_the_same_in_another_session() -> None:
    """The ids of expressions and the names of tables and columns of subqueries differ."""
    first = counts(keys=(N,), child=project(source(k=1), alias(binary("Remainder", K, literal(2)), "n", 9)))
    second = counts(keys=(binary("Remainder", column("k", 5), literal(2)),), child=source(k=5))
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first)["operators"] == [
        {"operator": "aggregation", "window": [], "grouping": ["(k % 2)"], "aggregates": ["count(1)"]}
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            windows(HOUR, HOUR),
            windows(2 * HOUR, 2 * HOUR),
            "the window changed from window(ts, 1 hour) to window(ts, 2 hours)",
        ),
        (
            windows(HOUR, HOUR // 2, HOUR // 4),
            windows(HOUR, 90_000_000),
            "the window changed from window(ts, 1 hour, 30 minutes, 15 minutes) to window(ts, 1 hour, 90 seconds)",
        ),
        (windows(HOUR, HOUR), counts(), "the window changed from window(ts, 1 hour) to none"),
        (counts(), counts(keys=(V,)), "the grouping columns changed from k to v"),
        (
            counts(keys=(binary("Remainder", K, literal(2)),)),
            counts(keys=(binary("Remainder", K, literal(3)),)),
            "the grouping columns changed from (k % 2) to (k % 3)",
        ),
        (
            counts(),
            counts(count_of(V, "DISTINCT"), count_of(literal(1))),
            "the aggregates changed from count(1) to count(DISTINCT v), count(1)",
        ),
        (counts(), source(k=1), "the stateful operators changed from aggregation to none"),
        (
            Operator("Deduplicate", (source(k=1, v=2),), keys=(K,)),
            Operator("Deduplicate", (source(k=1, v=2),), keys=(K, V)),
            "the columns of the deduplication changed from k to k, v",
        ),
        (
            Operator("Distinct", (project(source(k=1, v=2), K),)),
            Operator("Distinct", (project(source(k=1, v=2), K, V),)),
            "the columns of the DISTINCT changed from k to k, v",
        ),
    ],
)
def test_a_change_of_state_is_described(old: Operator, new: Operator, message: str) -> None:
    assert change(old, old) is None
    assert change(old, new) == message


LEFT, RIGHT = source("kafka.a", id=1, x=2, y=3), source("kafka.b", id=11, z=12)
ON = binary("EqualTo", column("id", 1), column("id", 11))


def test_the_time_of_a_window_may_be_an_expression() -> None:
    time = binary("Remainder", column("v", 2), literal(7))
    child = project(source(k=1, v=2), alias(window(HOUR, HOUR, HOUR // 4, time), "window", 30), K)
    (operator,) = fingerprint(counts(keys=(W, Expression("GetStructField", (W,), text="end")), child=child))[
        "operators"
    ]
    expected = "window((v % 7), 1 hour, 1 hour, 15 minutes)"
    assert (operator["window"], operator["grouping"]) == ([expected, f"{expected}.end"], [])


def test_a_join_of_streams_keeps_the_columns_that_the_query_uses() -> None:
    def joined(*columns: Expression, condition: Expression = ON, kind: str = "INNER") -> dict[str, Any]:
        return fingerprint(project(join(LEFT, RIGHT, condition, kind), *columns), a=table("a"), b=table("b"))

    x, y, z = column("x", 2), column("y", 3), column("z", 12)
    old = joined(x, z)
    assert old["operators"] == [
        {
            "operator": "join",
            "type": "INNER",
            "condition": "(1.id = 2.id)",
            "left": ["1.id", "1.x"],
            "right": ["2.id", "2.z"],
        }
    ]
    assert describe_change(old, joined(z, alias(x, "other"))) is None
    message = "the columns of the join's first input changed from 1.id, 1.x to 1.id, 1.x, 1.y"
    assert describe_change(old, joined(x, y, z)) == message
    assert describe_change(old, joined(x, z, kind="LEFT OUTER")) == "the join type changed from INNER to LEFT OUTER"
    other = binary("EqualTo", column("id", 1), z)
    message = "the join condition changed from (1.id = 2.id) to (1.id = 2.z)"
    assert describe_change(old, joined(x, z, condition=other)) == message


def test_a_join_with_a_table_keeps_nothing() -> None:
    assert fingerprint(join(source(k=1), Operator("Relation", is_streaming=False), ON))["operators"] == []


def test_sources_are_compared_by_their_topics() -> None:
    def reading(*topics: str, **options: str) -> dict[str, Any]:
        sources = [source(f"kafka.s{i}", k=i) for i in range(len(topics))]
        tables = {f"s{i}": table(topic, f"s{i}", **options) for i, topic in enumerate(topics)}
        return fingerprint(Operator("Union", tuple(sources)) if len(sources) > 1 else sources[0], **tables)

    one = reading("one")
    assert describe_change(one, reading("two;one")) is None
    message = "a source changed from table 's0' (topic 'one') to table 's0' (topic 'two')"
    assert describe_change(one, reading("two")) == message
    assert describe_change(reading("one;two"), reading("two"), drops_missing_topics=True) is None
    assert describe_change(one, reading("two"), drops_missing_topics=True) == message
    pattern = reading("", **{"topic-pattern": "o.*"})
    assert describe_change(one, pattern) is None  # the offsets are compared later
    assert describe_change(one, reading("one", "two")) == "the number of sources changed from 1 to 2"
    message = "a source changed from table 's0' (topic 'one') to table 's0' (topic 'two')"
    assert describe_change(reading("one", "two"), reading("two", "one")) == message
    rate = fingerprint(source("rate", k=1))
    message = "a source changed from table 's0' (topic 'one') to source 'rate'"
    assert describe_change(one, rate) == message
    message = "a source changed from table 's0' (topic pattern 'o.*') to source 'rate'"
    assert describe_change(pattern, rate) == message


def test_sinks_are_compared_by_their_topics_and_keys() -> None:
    plan = source(k=1)
    old = fingerprint(plan, table("out", "sink", ("k",)))
    assert describe_change(old, fingerprint(plan, table("out", "renamed", ("k",)))) is None
    message = "the sink changed from table 'sink' (topic 'out') to table 'sink' (topic 'other')"
    assert describe_change(old, fingerprint(plan, table("other", "sink", ("k",)))) == message
    message = "the primary key of the sink changed from k to k, n"
    assert describe_change(old, fingerprint(plan, table("out", "sink", ("k", "n")))) == message
    assert describe_change(old, fingerprint(plan)) == "the primary key of the sink changed from k to none"


def test_a_fingerprint_contains_no_strings_of_the_query() -> None:
    key = Expression("AesEncrypt", (K, literal("hunter2-4711", "string")))
    old = fingerprint(counts(keys=(key,)), src=table(**{"properties.sasl.password": "hunter2-4711"}))
    assert "hunter2" not in json.dumps(old)
    array = fingerprint(counts(keys=(literal("[hunter2]", '{"elementType": "string", "type": "array"}'),)))
    assert "hunter2" not in json.dumps(array)
    other = Expression("AesEncrypt", (K, literal("hunter3", "string")))
    assert "the grouping columns changed from aes_encrypt(k, '#" in (
        change(counts(keys=(key,)), counts(keys=(other,))) or ""
    )


def test_what_is_below_the_state_of_a_changelog_must_not_change() -> None:
    def with_state(state: dict[str, Any]) -> dict[str, Any]:
        plan = Operator("TransformWithState", (source(k=1, v=2),))
        return make_fingerprint(plan, describe_sink(SINK), {"kafka.src": table()}, [state])

    unfiltered = counts(count_of(V), child=source(k=1, v=2))
    before = with_state(describe_aggregate(unfiltered))
    assert before["operators"] == [describe_aggregate(unfiltered)]
    assert describe_change(before, with_state(describe_aggregate(unfiltered))) is None
    changed = with_state(describe_aggregate(counts(count_of(K), child=source(k=1, v=2))))
    assert describe_change(before, changed) == "the aggregates of the GroupAggregate changed from count(v) to count(k)"
    changed = with_state(describe_aggregate(counts(count_of(V), child=where(source(k=1, v=2), V))))
    assert describe_change(before, changed) == "the filters of the rows of the GroupAggregate changed from none to v"
    before = with_state(describe_materialization(project(source(k=1, v=2), K, V), ["v"]))
    assert describe_change(before, with_state(describe_materialization(project(source(k=1, v=2), V, K), ["v"]))) == (
        "the columns of the SinkUpsertMaterializer changed from k, v to v, k"
    )


def test_what_a_temporal_join_keeps() -> None:
    left, right = project(source(k=1, v=2), K, alias(V, "w", 5)), source("kafka.rates", k=3, m=4, n=9)
    described = describe_temporal_join(
        "INNER", ["k = k"], (left, {1: "bigint", 5: "int"}), (right, {3: "bigint", 9: "string"})
    )
    assert described == {
        "operator": "TemporalJoin",
        "type": "INNER",
        "keys": ["k = k"],
        "left": ["k bigint", "v int"],
        "right": ["k bigint", "n string"],
    }


def test_the_rows_of_a_sink_may_be_computed_in_another_way() -> None:
    def filtered(child: Operator, *columns: str) -> dict[str, Any]:
        plan = Operator("TransformWithState", (child,))
        state = describe_written_rows(["k"], columns)
        return make_fingerprint(plan, describe_sink(SINK), {"kafka.src": table()}, [state])

    before = filtered(where(source(k=1, v=2), V), "k int", "v int")
    assert describe_change(before, filtered(project(source(k=5, v=6), column("k", 5)), "k int", "v int")) is None
    assert describe_change(before, filtered(where(source(k=1, v=2), V), "k int", "v bigint")) == (
        "the columns of the ChangelogNormalize changed from k int, v int to k int, v bigint"
    )
    assert describe_change(before, fingerprint(source(k=1, v=2))) == (
        "the stateful operators changed from ChangelogNormalize to none"
    )
