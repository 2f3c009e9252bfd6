"""The operators against models in Python, over random histories."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_sql import state
from tests import changelog_models as models
from tests.changelog_models import AGGREGATES, Change, Row
from tests.changelog_streams import run, write_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

_SIZES = [(20, 60, 3), pytest.param(1000, 200, 20, marks=pytest.mark.long)]  # histories, changes, micro-batches


def _split(histories: Sequence[Iterator[Change]], length: int, batches: int) -> list[list[Change]]:
    """Distribute each history over the batches; an update stays whole."""
    split: list[list[Change]] = []
    for number in range(batches):
        split.append([])
        for history in histories:
            split[-1] += islice(history, None if number == batches - 1 else length // batches)
            if split[-1] and split[-1][-1][0] == "-U":
                split[-1] += islice(history, 1)
    return split


def _row(values: Sequence[Any]) -> Row:
    return dict(zip(("h", "k", "n", "s", "m", "d", "a"), values, strict=True))


def _key(row: Row) -> tuple[int, int]:
    return row["h"], row["k"]


@pytest.mark.parametrize(("histories", "length", "batches"), _SIZES)
@pytest.mark.timeout(1200)
def test_normalize(spark: SparkSession, tmp_path: Path, histories: int, length: int, batches: int) -> None:
    rng = random.Random(1)
    changes = _split([models.upsert_history(rng, h, length, 5) for h in range(histories)], length, batches)
    write_batches(spark, tmp_path, changes)
    output: list[list[tuple[Any, ...]]] = []
    query = run(spark, tmp_path, lambda rows: state.normalize(rows, ["h", "k"], "ord"), tmp_path / "checkpoint", output)
    last: dict[Any, Row] = {}
    for number, batch in enumerate(changes):
        expected: dict[Any, list[Change]] = {}
        for kind, row in models.normalize(batch, last, _key):
            expected.setdefault(_key(row), []).append((kind, row))
        actual: dict[Any, list[Change]] = {}
        for values in output[number]:
            actual.setdefault(values[:2], []).append((values[-2], _row(values[:7])))
        assert actual == expected, number
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == len(last)  # deleted keys leave nothing


@pytest.mark.parametrize(("histories", "length", "batches"), _SIZES)
@pytest.mark.timeout(1200)
def test_materialize(spark: SparkSession, tmp_path: Path, histories: int, length: int, batches: int) -> None:
    rng = random.Random(2)
    changes = _split([models.retract_history(rng, h, length) for h in range(histories)], length, batches)
    write_batches(spark, tmp_path, changes)
    output: list[list[tuple[Any, ...]]] = []
    query = run(
        spark, tmp_path, lambda rows: state.materialize(rows, ["h", "k"], "ord"), tmp_path / "checkpoint", output
    )
    rows: dict[Any, list[Row]] = {}
    for number, batch in enumerate(changes):
        actual = {values[:2]: (values[-2], _row(values[:7])) for values in output[number]}
        assert len(actual) == len(output[number])
        assert actual == models.materialize(batch, rows, _key), number
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == sum(map(bool, rows.values()))


def _aggregate(rows: DataFrame) -> DataFrame:
    result = rows.where("false").selectExpr(*(f"{sql} AS r{i}" for i, (sql, _, _) in enumerate(AGGREGATES)))
    calls = []
    for (sql, column, _), field in zip(AGGREGATES, result.schema, strict=True):
        calls.append(state.AggregateCall(sql.split("(")[0], column, "DISTINCT" in sql, field.name, field.dataType))
    return state.aggregate(rows, ["h", "k"], calls)


@pytest.mark.parametrize(("histories", "length", "batches"), [(10, 200, 3), _SIZES[1]])
@pytest.mark.timeout(1800)
def test_aggregate(spark: SparkSession, tmp_path: Path, histories: int, length: int, batches: int) -> None:
    rng = random.Random(3)
    changes = _split([models.retract_history(rng, h, length) for h in range(histories)], length, batches)
    write_batches(spark, tmp_path, changes)
    output: list[list[tuple[Any, ...]]] = []
    run(spark, tmp_path, _aggregate, tmp_path / "checkpoint", output)
    groups: dict[Any, list[Row]] = {}
    for number, batch in enumerate(changes):
        before = {key: models.aggregate(rows) for key, rows in groups.items()}
        for kind, row in batch:
            if kind in ("+I", "+U"):
                groups.setdefault(_key(row), []).append(row)
            else:
                groups[_key(row)].remove(row)
        expected = []
        for key, rows in groups.items():
            old, new = before.get(key), models.aggregate(rows)
            if old != new:
                expected += [(*key, *old, "-U" if new else "-D")] if old else []
                expected += [(*key, *new, "+U" if old else "+I")] if new else []
        assert models.is_multiset_equal(output[number], expected), number


@pytest.mark.long
def test_a_group_whose_values_were_retracted_leaves_no_state(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"h": 1, "k": 1, "n": n, "s": "x", "m": None, "d": 0.1 * n, "a": None} for n in range(50)]
    write_batches(spark, tmp_path, [[("+I", row) for row in rows], [("-D", row) for row in rows]])
    output: list[list[tuple[Any, ...]]] = []
    query = run(spark, tmp_path, _aggregate, tmp_path / "checkpoint", output)
    assert [row[-1] for batch in output for row in batch] == ["+I", "-D"]
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == 0


@pytest.mark.long
def test_without_keys_and_with_keys_that_are_equal_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    values = [0.0, -0.0, float("nan"), float("nan"), None]
    rows = [{"h": None, "k": None, "n": n, "s": None, "m": None, "d": d, "a": None} for n, d in enumerate(values)]
    write_batches(spark, tmp_path, [[("+I", row) for row in rows]])
    count = state.AggregateCall("count", None, False, "c", spark.range(1).selectExpr("count(*)").schema[0].dataType)
    distinct = state.AggregateCall("count", "d", True, "e", count.type)
    output: list[list[tuple[Any, ...]]] = []
    run(spark, tmp_path, lambda rows: state.aggregate(rows, [], [count, distinct]), tmp_path / "c1", output)
    assert output == [[(5, 2, "+I")]]
    run(spark, tmp_path, lambda rows: state.aggregate(rows, ["d"], [count]), tmp_path / "c2", output)
    assert models.is_multiset_equal(output[1], [(0.0, 2, "+I"), (float("nan"), 2, "+I"), (None, 1, "+I")])


@pytest.mark.long
def test_a_query_continues_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    row = models.random_row(random.Random(4), 1, 1)
    output: list[list[tuple[Any, ...]]] = []

    def process() -> None:
        run(spark, tmp_path, lambda rows: state.normalize(rows, ["k"], "ord"), tmp_path / "checkpoint", output)

    write_batches(spark, tmp_path, [[("+I", row)]])
    process()
    write_batches(spark, tmp_path, [[("+U", {**row, "n": 1000}), ("-D", row)]], first=1)
    process()
    assert [[(values[-2], values[2]) for values in batch] for batch in output] == [
        [("+I", row["n"])],
        [("-U", row["n"]), ("+U", 1000), ("-D", 1000)],
    ]


@pytest.mark.long
def test_before_an_aggregate_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    changes = _split([models.upsert_history(rng, h, 80, 5) for h in range(5)], 80, 4)
    write_batches(spark, tmp_path, changes)

    def total(rows: DataFrame) -> DataFrame:
        signed = state.normalize(rows, ["h", "k"], "ord").selectExpr(
            "h", "n", "if(__row_kind IN ('+I', '+U'), 1, -1) AS sign"
        )
        return signed.groupBy("h").agg({"sign": "sum", "n": "count"}).selectExpr("h", "`sum(sign)`")

    output: list[list[tuple[Any, ...]]] = []
    run(spark, tmp_path, total, tmp_path / "checkpoint", output)
    last: dict[Any, Row] = {}
    counts: dict[int, int] = {}
    for number, batch in enumerate(changes):
        models.normalize(batch, last, _key)
        counts.update(dict(output[number]))  # type: ignore[arg-type]
        assert counts == {h: sum(key[0] == h for key in last) for h in range(5)}


def test_another_state_store_is_rejected(spark: SparkSession) -> None:
    from kafka_sql.errors import UnsupportedSqlError

    key = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(key, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(UnsupportedSqlError, match="needs RocksDB"), state.configure(spark):
            pass
    finally:
        spark.conf.unset(key)


@pytest.mark.long
def test_maps_with_the_same_entries_are_equal(spark: SparkSession, tmp_path: Path) -> None:
    schema = "k INT, m MAP<STRING, INT>, __row_kind STRING, ord BIGINT"
    for order, kind, entries in ((1, "+I", "'a', 1, 'b', 2"), (2, "-D", "'b', 2, 'a', 1")):
        change = spark.sql(f"SELECT 1 AS k, map({entries}) AS m, '{kind}' AS __row_kind, {order}L AS ord")
        change.write.parquet(str(tmp_path / f"part-{order}"))
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "part-*"))
    rows = state.materialize(source, ["k"], "ord")
    output: list[tuple[Any, ...]] = []
    writer = rows.writeStream.foreachBatch(lambda batch, _: output.extend(map(tuple, batch.collect())))
    with state.configure(spark):
        query = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    query.stop()
    assert output == []  # inserted and deleted within a micro-batch
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == 0
