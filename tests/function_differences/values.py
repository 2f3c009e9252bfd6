"""Read the results of Flink that ``FlinkValues.java`` has written, and compute the same calls in Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.declarations.create import parse_create

_EXPRESSIONS: Final = Path(__file__).parents[1] / "integration" / "sql" / "expressions"
INPUTS_FILE: Final = _EXPRESSIONS / "flink_inputs.json"
INPUTS: Final[dict[str, Any]] = json.loads(INPUTS_FILE.read_text())
JAVA: Final = _EXPRESSIONS / "FlinkValues.java"
FLINK_VALUES: Final = (Path(__file__).with_name("flink_values.tsv"), _EXPRESSIONS / "flink_values.tsv")
_FAILURES: Final = (PySparkException, Py4JError)
_PART: Final = 50  # expressions per query


class Error(NamedTuple):
    """A result that an engine does not have: it failed."""

    message: str


class Call(NamedTuple):
    """An expression and its results for the rows of a table, in their order."""

    table: str
    expression: str
    results: list[Any]  # empty if the engine rejects the expression


def flink_calls(files: Iterable[Path] = FLINK_VALUES) -> list[Call]:
    """Return the calls with Flink's results, each once."""
    calls: dict[tuple[str, str], Call] = {}
    for file in files:
        for line in file.read_text().splitlines():
            table, time_zone, expression, _, values = line.split("\t")
            if time_zone in ("any", "UTC", "invalid"):
                results = [Error(str(v)) if isinstance(v, dict) else v for v in json.loads(values)]
                calls.setdefault((table, expression), Call(table, expression, results))
    return list(calls.values())


def create_views(spark: SparkSession) -> None:
    """Create a view of local data for each table of the inputs: Spark's optimizer computes projections of it."""
    for table, content in INPUTS.items():
        columns = parse_create(f"CREATE TABLE t ({content['columns']}) WITH ('connector' = 'kafka')").columns
        schema = string_literal("rn INT, " + ", ".join(f"`{c.name}` {c.type}" for c in columns))
        rows = ", ".join(f"({string_literal(row)})" for row in content["rows"])
        parsed = spark.sql(f"SELECT from_json(value, {schema}) AS r FROM VALUES {rows} AS v(value)")
        parsed.selectExpr("r.*").createOrReplaceTempView(table)


def spark_calls(spark: SparkSession, table: str, expressions: Sequence[str]) -> Iterator[Call]:
    """Compute expressions in Spark, each for all rows of a table; failures are results."""
    rows = spark.table(table)
    for start in range(0, len(expressions), _PART):
        yield from _compute(rows, table, expressions[start : start + _PART])


def _compute(rows: DataFrame, table: str, expressions: Sequence[str]) -> Iterator[Call]:
    """Compute expressions; split them if one of them fails, and compute each row of that one by itself."""
    try:
        selected = rows.selectExpr("rn", *(f"{e} AS c{i}" for i, e in enumerate(expressions)))
        texts = selected.selectExpr("rn", *(_comparable(f.name, f.dataType) for f in selected.schema.fields[1:]))
    except _FAILURES:
        if len(expressions) > 1:
            yield from _compute_halves(rows, table, expressions)
        else:
            yield Call(table, expressions[0], [])
        return
    try:
        result = sorted(texts.collect(), key=lambda row: row.rn)
        yield from (Call(table, e, [row[i + 1] for row in result]) for i, e in enumerate(expressions))
    except _FAILURES:
        if len(expressions) > 1:
            yield from _compute_halves(rows, table, expressions)
        else:
            yield Call(table, expressions[0], [_row(texts, n + 1) for n in range(len(INPUTS[table]["rows"]))])


def _compute_halves(rows: DataFrame, table: str, expressions: Sequence[str]) -> Iterator[Call]:
    half = len(expressions) // 2
    yield from _compute(rows, table, expressions[:half])
    yield from _compute(rows, table, expressions[half:])


def _row(texts: DataFrame, number: int) -> Any:
    try:
        (row,) = texts.where(f"rn = {number}").collect()
    except _FAILURES as e:
        return Error(str(e).partition("\n")[0][:200])
    return row[1]


def _comparable(name: str, type: DataType) -> str:
    """Return SQL for a value that does not depend on Python's time zone and dates."""
    if type.typeName() in ("timestamp", "timestamp_ntz", "date", "variant", "time", "daytimeinterval", "interval"):
        return f"CAST({name} AS STRING) AS {name}"
    return name


def same(flink: Any, spark: Any) -> bool:
    """Return whether a result of Flink, as JSON, is that of Spark; types of numbers may differ."""
    if flink is None or spark is None:
        return flink is None and spark is None
    if isinstance(spark, bool):
        return flink == str(spark).lower()
    if isinstance(spark, (bytes, bytearray)):
        return bool(flink == spark.hex())
    if isinstance(spark, dict):
        pairs = [[k, v] for k, v in spark.items()]
        return len(flink) == len(pairs) and all(any(same(f, p) for p in pairs) for f in flink)
    if isinstance(spark, (list, tuple)):
        return isinstance(flink, list) and len(flink) == len(spark) and all(map(same, flink, spark))
    if isinstance(spark, (int, float, Decimal)):
        return isinstance(flink, str) and _same_number(flink, spark)
    return str(spark) in (flink, str(flink).removesuffix("Z"))


def _same_number(flink: str, spark: float | Decimal) -> bool:
    if isinstance(spark, float):
        try:
            number = float(flink)
        except ValueError:
            return False
        return (math.isnan(number) and math.isnan(spark)) or math.isclose(number, spark, rel_tol=1e-5)
    try:
        return Decimal(flink) == spark
    except InvalidOperation:
        return False
