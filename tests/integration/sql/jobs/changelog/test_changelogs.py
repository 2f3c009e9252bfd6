"""Continuous queries over changelogs: forwarding, filters and aggregates, with deletes and restarts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from kafka_sql.errors import CheckpointError, UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration

Row = dict[str, Any]


def run(spark: Any, result: Any) -> None:
    """Run a continuous query until it has read all records."""
    query = spark.streams.get(result.collect()[0][0])
    query.processAllAvailable()
    query.stop()


def debezium(op: str, before: Row | None, after: Row | None) -> bytes:
    return json.dumps({"before": before, "after": after, "op": op}).encode()


def insert(**row: Any) -> bytes:
    return debezium("c", None, row)


def update(before: Row, **changed: Any) -> bytes:
    return debezium("u", before, {**before, **changed})


def delete(**row: Any) -> bytes:
    return debezium("d", row, None)


def records(topics: Topics, topic: str, expected: int) -> list[tuple[Any, Any]]:
    """Return the keys and values of a topic's records."""
    messages = topics.consume(topic, expected)
    return [(json.loads(m.key() or b"null"), json.loads(m.value()) if m.value() else None) for m in messages]


def test_upserts_and_deletes_are_forwarded(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    columns = "(id INT, name STRING NOT NULL, n INT, PRIMARY KEY (id) NOT ENFORCED)"
    streaming(f"CREATE TABLE src {columns} {topics.with_upsert_options(source)}")
    streaming(f"CREATE TABLE tgt {columns} {topics.with_upsert_options(target)}")

    def put(id: int, value: Row | None) -> None:
        topics.produce(
            source, None if value is None else json.dumps({"id": id, **value}).encode(), key=b'{"id":%d}' % id
        )

    put(1, {"name": "a", "n": 1})
    put(2, {"name": "b", "n": 9})
    put(7, None)  # of an unknown key: it passes, as in Flink
    for batch in range(2):
        run(spark, streaming("INSERT INTO tgt SELECT id, upper(name), n FROM src WHERE id < 9"))
        if batch == 0:
            put(1, {"name": "a", "n": 6})
            put(2, None)
            put(3, {"name": "c", "n": 2})
    a, b, c = ({"id": i, "name": name, "n": n} for i, name, n in ((1, "A", 1), (2, "B", 9), (3, "C", 2)))
    assert records(topics, target, 6) == [
        ({"id": 1}, a),
        ({"id": 2}, b),
        ({"id": 7}, None),
        ({"id": 1}, {**a, "n": 6}),
        ({"id": 2}, None),
        ({"id": 3}, c),
    ]


# changes of an upsert table, None for a tombstone, and the records that Flink writes for WHERE n < 5, by key
UPSERTS: list[tuple[int, Row | None]] = [
    *((1, {"name": "a", "n": 1}), (2, {"name": "b", "n": 9}), (7, None), (1, {"name": "a", "n": 1})),
    *((3, {"name": "c", "n": n}) for n in (9, 8, 2, 3, 7, 7)),
    *((3, None), (3, None), (2, {"name": "b", "n": 1}), (2, None), (4, {"name": "d", "n": 1})),
    *((4, {"name": "D", "n": n}) for n in (1, 2, None, 1)),
    *((5, {"name": "e", "n": 9}), (5, None)),
]
FILTERED_UPSERTS: dict[int, list[Row | None]] = {
    1: [{"name": "a", "n": 1}],
    2: [{"name": "b", "n": 1}, None],
    3: [{"name": "c", "n": 2}, {"name": "c", "n": 3}, None],
    4: [{"name": "d", "n": 1}, {"name": "D", "n": 1}, {"name": "D", "n": 2}, None, {"name": "D", "n": 1}],
}


def put_upserts(topics: Topics, topic: str, changes: list[tuple[int, Row | None]]) -> None:
    topics.produce_all(
        topic,
        [
            (b'{"id":%d}' % id, None if value is None else json.dumps({"id": id, "other": i, **value}).encode())
            for i, (id, value) in enumerate(changes)
        ],
    )


def changes_by_key(records: list[tuple[Any, Any]]) -> dict[int, list[Row | None]]:
    """Return the values of each key, without the key."""
    changes: dict[int, list[Row | None]] = {}
    for key, value in records:
        row = None if value is None else {name: value[name] for name in value if name != "id"}
        changes.setdefault(key["id"], []).append(row)
    return changes


@pytest.mark.long
def test_a_filter_of_upserts_writes_what_changes(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    key = "PRIMARY KEY (id) NOT ENFORCED"
    streaming(f"CREATE TABLE src (id INT, name STRING, n INT, other INT, {key}) {topics.with_upsert_options(source)}")
    options = topics.with_upsert_options(target, **{"sink.parallelism": "2"})
    streaming(f"CREATE TABLE tgt (name STRING, n INT, id BIGINT, {key}) {options}")
    insert_into = "INSERT INTO tgt SELECT name, n, id FROM (SELECT * FROM src WHERE id > 0 AND n + 1 < 6) WHERE n < 9"
    assert "State: ChangelogNormalize (id)\n" in streaming(f"EXPLAIN {insert_into}").collect()[0][0]
    for part in (UPSERTS[:9], UPSERTS[9:]):
        put_upserts(topics, source, part)
        run(spark, streaming(insert_into))
    assert changes_by_key(records(topics, target, 11)) == FILTERED_UPSERTS
    # the state has the rows of the sink, so they may be computed in another way
    put_upserts(topics, source, [(8, {"name": "h", "n": 8}), (4, {"name": "D", "n": 1}), (1, {"name": "A", "n": 1})])
    run(spark, streaming("INSERT INTO tgt SELECT upper(name), n, id FROM src WHERE n > 1 OR name = 'D'"))
    new = records(topics, target, 13)[11:]
    assert sorted(new, key=str) == [({"id": 1}, None), ({"id": 8}, {"name": "H", "n": 8, "id": 8})]
    with pytest.raises(CheckpointError, match="the stateful operators changed from ChangelogNormalize to none"):
        streaming("INSERT INTO tgt SELECT name, n, id FROM src")


@pytest.mark.long
def test_changes_are_forwarded(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target, heavy, copy = topics.create(), topics.create(), topics.create(), topics.create()
    columns = "(id INT, w INT, PRIMARY KEY (id) NOT ENFORCED)"
    streaming(f"CREATE TABLE src {columns} {topics.with_options(source, format='debezium-json')}")
    streaming(f"CREATE TABLE tgt {columns} {topics.with_upsert_options(target)}")
    options = topics.with_upsert_options(heavy)
    streaming(f"CREATE TABLE heavy (id INT, w INT, c STRING, PRIMARY KEY (c, id, w) NOT ENFORCED) {options}")
    streaming(f"CREATE TABLE cpy (id INT, w INT) {topics.with_options(copy, format='debezium-json')}")
    one, two = {"id": 1, "w": 1}, {"id": 2, "w": 20}
    topics.produce(source, insert(**one), insert(**two), update(one, w=11), update(two, w=2), delete(id=1, w=11))
    run(spark, streaming("INSERT INTO tgt SELECT id, w FROM src"))
    run(spark, streaming("INSERT INTO heavy SELECT id, w, 'c' FROM src WHERE w > 10"))
    run(spark, streaming("INSERT INTO cpy WITH heavy AS (SELECT * FROM src) SELECT id, w + 1 FROM heavy h"))
    assert records(topics, target, 5) == [  # no tombstone before an update
        ({"id": 1}, one),
        ({"id": 2}, two),
        ({"id": 1}, {"id": 1, "w": 11}),
        ({"id": 2}, {"id": 2, "w": 2}),
        ({"id": 1}, None),
    ]
    assert records(topics, heavy, 4) == [
        ({"c": "c", "id": 2, "w": 20}, {"id": 2, "w": 20, "c": "c"}),
        ({"c": "c", "id": 1, "w": 11}, {"id": 1, "w": 11, "c": "c"}),
        ({"c": "c", "id": 2, "w": 20}, None),
        ({"c": "c", "id": 1, "w": 11}, None),
    ]
    changes = [value for _, value in records(topics, copy, 7)]
    assert [(c["op"], (c["before"] or c["after"])["id"], (c["before"] or c["after"])["w"]) for c in changes] == [
        ("c", 1, 2),
        ("c", 2, 21),
        ("d", 1, 2),
        ("c", 1, 12),
        ("d", 2, 21),
        ("c", 2, 3),
        ("d", 1, 12),
    ]


def test_aggregates_take_rows_back(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target, many = topics.create(2), topics.create(), topics.create()
    streaming(f"CREATE TABLE src (name STRING, w DECIMAL(10, 3)) {topics.with_options(source, format='debezium-json')}")
    streaming(
        "CREATE TABLE tgt (name STRING, n BIGINT, c BIGINT, s DECIMAL(20, 3), a DECIMAL(14, 7), "
        f"f BIGINT, PRIMARY KEY (name) NOT ENFORCED) {topics.with_upsert_options(target)}"
    )
    streaming(
        f"CREATE TABLE many (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) {topics.with_upsert_options(many)}"
    )
    aggregate = (
        "INSERT INTO tgt SELECT name, count(*), count(w), sum(w), avg(w), count(*) FILTER (WHERE w > 2) * 10 + 1 "
        "FROM src GROUP BY name"
    )
    having = "INSERT INTO many SELECT upper(name), n FROM (SELECT name, count(w) n FROM src GROUP BY name) WHERE n > 1"
    a, b = {"name": "a", "w": 1}, {"name": "b", "w": None}
    topics.produce(source, insert(**a), insert(name="a", w=3), insert(**b))
    run(spark, streaming(aggregate))
    run(spark, streaming(having.replace("upper(name)", "name")))
    topics.produce(source, update(a, w=2), delete(**b), delete(name="a", w=3))
    run(spark, streaming(aggregate))
    run(spark, streaming(having.replace("upper(name)", "name")))
    result = records(topics, target, 4)
    assert sorted(result[:2], key=str) == [
        ({"name": "a"}, {"name": "a", "n": 2, "c": 2, "s": 4, "a": 2, "f": 11}),
        ({"name": "b"}, {"name": "b", "n": 1, "c": 0, "s": None, "a": None, "f": 1}),
    ]
    assert sorted(result[2:], key=str) == [
        ({"name": "a"}, {"name": "a", "n": 1, "c": 1, "s": 2, "a": 2, "f": 1}),
        ({"name": "b"}, None),
    ]
    result = records(topics, many, 4)
    assert [value for key, value in result if key == {"name": "a"}] == [{"name": "a", "n": 2}, None]
    assert [value for key, value in result if key == {"name": "b"}] == [None, None]


@pytest.mark.long
def test_a_filter_of_an_aggregate_deletes_rows(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (k INT, v INT) {topics.with_options(source)}")
    columns = "(k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)"
    streaming(f"CREATE TABLE tgt {columns} {topics.with_upsert_options(target)}")
    insert_into = (
        "INSERT INTO tgt SELECT k, n + 1 FROM (SELECT k, count(*) n FROM src GROUP BY k HAVING max(v) < 9) WHERE k > 0"
    )
    topics.produce(source, *(b'{"k": %d, "v": 1}' % k for k in (0, 1, 2, 2)))
    run(spark, streaming(insert_into))
    topics.produce(source, b'{"k": 1, "v": 2}', b'{"k": 2, "v": 9}', b'{"k": 0, "v": 9}')
    run(spark, streaming(insert_into))
    result = records(topics, target, 4)
    assert sorted(result[:2], key=str) == [({"k": 1}, {"k": 1, "n": 2}), ({"k": 2}, {"k": 2, "n": 3})]
    assert sorted(result[2:], key=str) == [({"k": 1}, {"k": 1, "n": 3}), ({"k": 2}, None)]


def test_what_would_be_wrong_is_refused_before_the_start(spark: Any, streaming: Any, topics: Topics) -> None:
    topic = topics.create()
    cdc, upserts = topics.with_options(topic, format="debezium-json"), topics.with_upsert_options(topic)
    key = "PRIMARY KEY (id) NOT ENFORCED"
    streaming(f"CREATE TABLE changes (id INT, g INT, w DOUBLE, {key}) {cdc}")
    streaming(f"CREATE TABLE unkeyed (id INT, g INT, w DOUBLE) {cdc}")
    metadata = "o BIGINT METADATA FROM 'offset' VIRTUAL, p INT METADATA FROM 'partition' VIRTUAL"
    streaming(f"CREATE TABLE located (id INT, g INT, {metadata}, o2 AS o + 1, {key}) {cdc}")
    streaming(f"CREATE TABLE latest (id INT, g INT, w DOUBLE, {key}) {upserts}")
    streaming(f"CREATE TABLE by_id (id INT, g INT, w DOUBLE, {key}) {upserts}")
    streaming(f"CREATE TABLE cdc_sink (id INT, g INT, w DOUBLE) {cdc}")
    streaming(f"CREATE TABLE plain (id INT, g INT, w DOUBLE) {topics.with_options(topic)}")
    spark.range(3).toDF("x").createOrReplaceTempView("static")
    for query, message in [
        ("plain SELECT * FROM plain ON CONFLICT DO DEDUPLICATE", "only for tables whose rows are updated by"),
        ("by_id SELECT g, id, rand() FROM changes", "a value of 'w' that may differ"),
        ("by_id SELECT id, sum(x), 1 FROM (SELECT id, rand() x FROM changes) GROUP BY id", r"the expression sum\(x\)"),
        (
            "by_id SELECT g, max(o), 1 FROM located GROUP BY g",
            r"the expression max\(o\).* in an aggregate over changes",
        ),
        ("by_id SELECT o2, count(*), 1 FROM located GROUP BY o2", "the expression o2 in an aggregate over changes"),
        (
            "by_id SELECT DISTINCT g, o, 1 FROM (SELECT g, o FROM located UNION ALL SELECT id, p FROM located)",
            "the expression o in an aggregate over changes",
        ),
        ("by_id SELECT g, o, 1 FROM located", "a value of 'g' that may differ when the row is deleted"),
        (
            "by_id SELECT g, count(*), 1 FROM located WHERE o > 1 GROUP BY g",
            r"an aggregate over changes that pass \(o > ",
        ),
        (
            "by_id SELECT 1, count(*), 1 FROM (SELECT 1 FROM located WHERE o2 > 1 UNION ALL SELECT 1 FROM located)",
            r"an aggregate over changes that pass \(o2 > ",
        ),
        ("by_id SELECT g, p, 1 FROM located WHERE o > 1", r"another PRIMARY KEY for changes that pass \(o > "),
        ("plain SELECT * FROM changes", r"sink 'default.plain' doesn't support consuming update and delete changes"),
        (
            "by_id SELECT id, n, 1 FROM (SELECT id, count(*) n FROM changes GROUP BY id) LIMIT 2",
            "LIMIT over a streaming",
        ),
        ("by_id SELECT * FROM changes WHERE w > rand()", "the filter .*rand.* over a stream of changes"),
        ("by_id SELECT * FROM changes WHERE id IN (SELECT x FROM static)", "the filter .* over a stream of changes"),
        ("by_id SELECT c.* FROM changes c JOIN located d ON c.id = d.o", "the expression o in a join of changes"),
        (
            "plain SELECT c.* FROM plain c LEFT JOIN plain d ON c.id = d.id",
            "doesn't support consuming .* which node Join",
        ),
        (
            "by_id SELECT * FROM changes WHERE w > (SELECT w FROM latest)",
            "scalar subquery over a stream must return one row",
        ),
        ("plain SELECT * FROM plain ORDER BY id", "ORDER BY id in a continuous query is not supported"),
    ]:
        with pytest.raises(UnsupportedSqlError, match=message):
            streaming(f"INSERT INTO {query}")
    assert spark.streams.active == []
    for query in (
        "by_id SELECT id, o, 1 FROM located WHERE o > 1",  # as Flink writes them
        "by_id SELECT g, p, 1 FROM located",  # the partition is the same for all changes of a row
        "by_id SELECT p, max(id), 1 FROM located GROUP BY p",
        # several rows can have the same key: the newest one stays
        "by_id SELECT * FROM unkeyed",
        "by_id SELECT * FROM unkeyed ON CONFLICT DO NOTHING",
        "by_id SELECT * FROM changes UNION ALL SELECT * FROM unkeyed",
        "by_id SELECT id, explode(array(g, 1)), w FROM latest",
        "by_id SELECT count(*), g, 1 FROM changes GROUP BY g",
        "by_id SELECT id, g, count(*) FROM plain GROUP BY id, g",
        "by_id SELECT id, first(g), 1 FROM changes GROUP BY id",
        "cdc_sink SELECT g, o, 1 FROM located",
    ):
        assert "State:" in streaming(f"EXPLAIN INSERT INTO {query}").collect()[0][0]


def test_explain_shows_changelog_modes_and_state(streaming: Any, topics: Topics) -> None:
    topic = topics.create()
    streaming(f"CREATE TABLE changes (name STRING, w INT) {topics.with_options(topic, format='debezium-json')}")
    columns = "(name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED)"
    streaming(f"CREATE TABLE latest {columns} {topics.with_upsert_options(topic)}")
    streaming(f"CREATE TABLE tgt {columns} {topics.with_upsert_options(topic)}")
    streaming(f"CREATE TABLE plain (name STRING) {topics.with_options(topic)}")
    latest = "TableSourceScan(table=[default.latest], fields=[name, n], changelogMode=[I,UA,D])"
    changes = "TableSourceScan(table=[default.changes], fields=[name, w], changelogMode=[I,UB,UA,D])"
    normalized = "ChangelogNormalize(table=[default.latest], keys=[name], columns=[name STRING, n BIGINT], "
    for query, mode, operators, state in [
        ("SELECT * FROM latest", "[I,UA,D]", [latest], "none"),
        (
            "SELECT name, n + 1 FROM latest WHERE n > 0",
            "[I,UA,D]",
            [
                "ChangelogNormalize(keys=[name], columns=[name string, n bigint], changelogMode=[I,UA,D])",
                "Calc(select=[name, (n + CAST(1 AS long)) AS (n + 1)], changelogMode=[I,UA,D])",
                "Calc(where=[(n > CAST(0 AS long))], changelogMode=[I,UA,D])",
                latest,
            ],
            "ChangelogNormalize (name)",
        ),
        (
            "SELECT name, count(w) FROM changes GROUP BY name",
            "[I,UA,D]",
            ["GroupAggregate(groupBy=[name], select=[name, count(w) AS count(w)], changelogMode=[I,UA,D])", changes],
            "aggregation (name)",
        ),
        (
            "SELECT name, count(*) FROM plain GROUP BY name",
            "[I,UA]",
            [
                "GroupAggregate(groupBy=[name], select=[name, count(1) AS count(1)], changelogMode=[I,UA])",
                "TableSourceScan(table=[default.plain], fields=[name], changelogMode=[I])",
            ],
            "aggregation (name)",
        ),
        (
            "SELECT name, max(w) FROM changes GROUP BY name",
            "[I,UB,UA,D]",
            ["GroupAggregate(groupBy=[name], select=[max(w)], changelogMode=[I,UB,UA,D])", changes],
            "GroupAggregate (name)",
        ),
        (
            "SELECT upper(name), n FROM latest",
            "[I,UA,D]",
            [
                "SinkUpsertMaterializer(keys=[name], columns=[CAST(upper(name) AS string), CAST(n AS long)], "
                "changelogMode=[I,UA,D])",
                "Calc(select=[upper(name) AS upper(name), n], changelogMode=[I,UB,UA,D])",
                f"{normalized}changelogMode=[I,UB,UA,D])",
                latest,
            ],
            "ChangelogNormalize (default.latest: name), SinkUpsertMaterializer (name)",
        ),
    ]:
        plan = streaming(f"EXPLAIN INSERT INTO tgt {query}").collect()[0][0]
        lines = ["== Sink ==", "INSERT INTO default.tgt", "", "== Operators =="]
        lines += [f"Sink(table=[default.tgt], changelogMode={mode})"]
        lines += [f"{'   ' * i}+- {operator}" for i, operator in enumerate(operators)]
        lines += [f"State: {state}", "", "== Physical Plan =="]
        assert plan.splitlines()[: len(lines)] == lines
        assert "__row" not in plan


def test_on_conflict(spark: Any, streaming: Any, topics: Topics) -> None:
    source, first, failing = topics.create(), topics.create(), topics.create()
    changes = topics.with_options(source, format="debezium-json")
    streaming(f"CREATE TABLE people (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) {changes}")
    columns = "(name STRING, id INT, PRIMARY KEY (name) NOT ENFORCED)"
    streaming(f"CREATE TABLE first_ids {columns} {topics.with_upsert_options(first)}")
    streaming(f"CREATE TABLE only_ids {columns} {topics.with_upsert_options(failing)}")

    nothing = "INSERT INTO first_ids SELECT name, id FROM people ON CONFLICT DO NOTHING"
    error = "INSERT INTO only_ids SELECT name, id FROM people ON CONFLICT DO ERROR"
    a1, a2 = {"id": 1, "name": "a"}, {"id": 2, "name": "a"}
    topics.produce(source, insert(**a1), insert(**a2), delete(**a2))  # the conflict ends within the micro-batch
    run(spark, streaming(nothing))
    run(spark, streaming(error))
    topics.produce(source, insert(**a2))
    run(spark, streaming(nothing))
    with pytest.raises(StreamingQueryException, match=r"have the key \[a\] of \[name\]\. Use ON CONFLICT DO NOTHING"):
        run(spark, streaming(error))
    topics.produce(source, update(a1, name="b"))
    run(spark, streaming(nothing))
    (inserted, *others) = records(topics, first, 3)
    assert inserted == ({"name": "a"}, {"name": "a", "id": 1})  # the second row of a is forgotten
    assert sorted(others, key=str) == [({"name": "a"}, None), ({"name": "b"}, {"name": "b", "id": 1})]


STATEFUL_QUERIES = {
    "totals": "SELECT name, sum(n) s, min(n) low, max(n) high, count(DISTINCT n) d FROM latest GROUP BY name",
    "visitors": "SELECT region, count(DISTINCT user_id) d FROM views GROUP BY region HAVING count(*) > 2",
    "by_name": "SELECT id, name FROM latest ON CONFLICT DO DEDUPLICATE",
    "copied": "SELECT * FROM latest WHERE n > 1",
    "extremes": "SELECT name, min(w) low, max(w) + 1 high, count(DISTINCT w) d, count(*) n FROM changes GROUP BY name",
}


@pytest.mark.long
@pytest.mark.parametrize(
    "names",
    [("by_name", "extremes"), pytest.param(("totals", "visitors", "copied"), marks=pytest.mark.long)],
    ids=["sample", "others"],
)
def test_old_rows_and_values_are_kept_across_restarts(
    spark: Any, streaming: Any, topics: Topics, names: Sequence[str]
) -> None:
    latest, changes, views = topics.create(), topics.create(), topics.create()
    columns = "(id INT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)"
    streaming(f"CREATE TABLE latest {columns} {topics.with_upsert_options(latest)}")
    streaming(f"CREATE TABLE changes (name STRING, w INT) {topics.with_options(changes, format='debezium-json')}")
    streaming(f"CREATE TABLE views (user_id INT, region STRING) {topics.with_options(views)}")
    targets = {name: topics.create() for name in STATEFUL_QUERIES}
    for name, sink_columns in {
        "totals": "name STRING, s BIGINT, low INT, high INT, d BIGINT, PRIMARY KEY (name) NOT ENFORCED",
        "by_name": "id INT, name STRING, PRIMARY KEY (name) NOT ENFORCED",
        "extremes": "name STRING, low INT, high INT, d BIGINT, n BIGINT, PRIMARY KEY (name) NOT ENFORCED",
    }.items():
        streaming(f"CREATE TABLE {name} ({sink_columns}) {topics.with_upsert_options(targets[name])}")
    for name, sink_columns in {"visitors": "region STRING, d BIGINT", "copied": "id INT, name STRING, n INT"}.items():
        streaming(f"CREATE TABLE {name} ({sink_columns}) {topics.with_options(targets[name], format='debezium-json')}")

    def put(id: int, name: str = "", n: int = 0) -> None:
        value = json.dumps({"id": id, "name": name, "n": n}).encode() if name else None
        topics.produce(latest, value, key=b'{"id":%d}' % id)

    a1, a5, b2 = ({"name": name, "w": w} for name, w in (("a", 1), ("a", 5), ("b", 2)))
    put(1, "a", 1)
    put(2, "a", 5)
    put(4, "a", 5)
    put(9, "z", 9)
    put(7)  # of an unknown key
    topics.produce(changes, insert(**a1), insert(**a5), insert(**a5), insert(**b2))
    topics.produce(views, *(b'{"user_id": %d, "region": "eu"}' % user for user in (1, 2, 1)))
    state_rows: dict[str, list[int]] = {name: [] for name in names}
    for is_restarted in (False, True):
        if is_restarted:
            put(4)
            put(2, "b", 5)
            put(9)
            put(1, "a", 1)  # equal to the old row
            topics.produce(changes, delete(**a5), update(a1, w=5), delete(**b2))
            topics.produce(views, b'{"user_id": 3, "region": "eu"}')
        for name in names:
            (row,) = streaming(f"INSERT INTO {name} {STATEFUL_QUERIES[name]}").collect()
            job = spark.streams.get(row[0])
            job.processAllAvailable()
            jobs = [row for row in streaming("SHOW JOBS EXTENDED").collect() if row["job id"] == job.id]
            (shown,) = [row for row in jobs if row["status"] == "RUNNING"]  # without the one before the restart
            state_rows[name].append(shown["state rows"])
            assert shown["state bytes"] > 0
            job.stop()

    def written(name: str, first: int, then: int) -> list[list[Any]]:
        """Return the rows of both runs, each as its values; a tombstone as its key."""
        rows = [list((value or key).values()) for key, value in records(topics, targets[name], first + then)]
        return [*sorted(rows[:first], key=str), *sorted(rows[first:], key=str)]

    def images(name: str, first: int, then: int) -> list[tuple[Any, ...]]:
        events = [event for _, event in records(topics, targets[name], first + then)]
        rows = [(*(event["before"] or event["after"]).values(), event["op"]) for event in events]
        return [*sorted(rows[:first]), *sorted(rows[first:], key=lambda row: row[0])]  # those of a row stay in order

    if "totals" in names:
        assert written("totals", 2, 3) == [
            ["a", 11, 1, 5, 2],
            ["z", 9, 9, 9, 1],
            ["a", 1, 1, 1, 1],
            ["b", 5, 5, 5, 1],
            ["z"],
        ]
        assert images("visitors", 1, 2) == [("eu", 2, "c"), ("eu", 2, "d"), ("eu", 3, "c")]
        assert images("copied", 3, 4) == [
            *((2, "a", 5, "c"), (4, "a", 5, "c"), (9, "z", 9, "c")),
            *((2, "a", 5, "d"), (2, "b", 5, "c"), (4, "a", 5, "d"), (9, "z", 9, "d")),
        ]
        assert state_rows["copied"] == [4, 2]
        return
    assert written("by_name", 2, 3) == [[4, "a"], [9, "z"], ["z"], [1, "a"], [2, "b"]]
    assert written("extremes", 2, 2) == [["a", 1, 6, 2, 3], ["b", 2, 3, 1, 1], ["a", 5, 6, 1, 2], ["b"]]
    assert state_rows["by_name"] == [4 + 2, 2 + 2]
    for insert_into, change in {
        "extremes SELECT name, min(w) + 1, max(w), 1, 1 FROM changes WHERE w > 1 GROUP BY name": "the aggregates",
        "by_name SELECT id, upper(name) FROM latest": "the columns",
        "by_name SELECT id, name FROM latest WHERE n > 1": "the filters of the rows",
    }.items():
        with pytest.raises(CheckpointError, match=change):
            streaming(f"INSERT INTO {insert_into}")


@pytest.mark.long
def test_the_newest_row_of_a_key_is_the_last_one_of_its_record(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    key = "PRIMARY KEY ({}) NOT ENFORCED"
    options = topics.with_options(source, format="canal-json")
    streaming(f"CREATE TABLE src (id INT, name STRING, {key.format('id')}) {options}")
    streaming(f"CREATE TABLE tgt (id INT, name STRING, {key.format('name')}) {topics.with_upsert_options(target)}")
    rows = [{"id": id, "name": "a"} for id in range(9)]
    topics.produce(source, *(json.dumps({"data": data, "type": "INSERT"}).encode() for data in (rows, rows[:1])))
    topics.produce(source, json.dumps({"data": rows[:1], "type": "DELETE"}).encode())
    run(spark, streaming("INSERT INTO tgt SELECT id, name FROM src"))
    assert records(topics, target, 1) == [({"name": "a"}, {"id": 0, "name": "a"})]
