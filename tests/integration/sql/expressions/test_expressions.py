"""Every translated expression has the value and the type that Flink's own planner and runtime gave.

``flink_values.tsv`` was written by Flink 2.3: a table of ``flink_inputs.json``, the session's time zone, an
expression, its type, and its value for each row of the table, or Flink's error.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.expressions.computed import translate_expression
from kafka_sql.sql.expressions.typed import TypedExpression
from kafka_sql.sql.grammar.dialect import parse_declaration
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type

pytestmark = pytest.mark.integration
HERE = Path(__file__).parent
INPUTS: dict[str, Any] = json.loads((HERE / "flink_inputs.json").read_text())


class Case(NamedTuple):
    """One line of the table."""

    table: str
    zone: str  # or "any"
    expression: str
    type: str
    values: list[Any]


def cases(path: Path = HERE / "flink_values.tsv") -> list[Case]:
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [Case(*line[:4], json.loads(line[4])) for line in lines]


def typed(table: str, expression: str) -> TypedExpression:
    ddl = f"CREATE TABLE t ({INPUTS[table]['columns']}, c AS {expression}) WITH ('connector' = 'kafka')"
    columns = parse_declaration(ddl).columns
    node = columns[-1].expression
    assert node is not None
    return translate_expression(node, "c", {c.name: c.type for c in columns if c.type is not None})


def flink_type(text: str) -> FlinkType:
    type = parse_declaration(f"CREATE TABLE t (c {text}) WITH ('connector' = 'kafka')").columns[0].type
    assert type is not None
    return type


def frame(spark: Any, table: str) -> Any:
    """The table's rows, not folded away by the optimizer."""
    columns = parse_create(f"CREATE TABLE t ({INPUTS[table]['columns']}) WITH ('connector' = 'kafka')").columns
    schema = "rn INT, " + ", ".join(f"`{c.name}` {c.type}" for c in columns)
    rows = [(row,) for row in INPUTS[table]["rows"]]
    # not rdd.toDF(), which is of the session that was made last
    text = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "value STRING")
    return text.selectExpr(f"from_json(value, '{schema}') AS r").selectExpr("r.*")


def shown(sql: str, type: FlinkType) -> str:
    """A timestamp as what does not depend on Python's time zone."""
    if type.name == "TIMESTAMP_LTZ":
        return f"unix_micros({sql})"
    return f"CAST({sql} AS STRING)" if type.name in ("TIMESTAMP", "DATE") else sql


def expected(value: Any, type: FlinkType) -> Any:
    """Flink's value as Spark's Python object."""
    if value is None:
        return None
    if type.name == "ARRAY":
        return [expected(v, type.elements[0]) for v in value]
    if type.name == "MAP":
        return sorted([expected(v, t) for v, t in zip(pair, type.elements, strict=True)] for pair in value)
    if type.name == "ROW":
        return [expected(v, f.type) for v, f in zip(value, type.fields, strict=True)]
    if type.name in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return int(value)
    if type.name in ("FLOAT", "DOUBLE"):
        number = float(value.replace("Infinity", "inf"))
        return struct.unpack("f", struct.pack("f", number))[0] if type.name == "FLOAT" else number
    if type.name == "BOOLEAN":
        return value == "true"
    if type.name == "DECIMAL":
        return Decimal(value)
    return value


def found(value: Any, type: FlinkType) -> Any:
    """Spark's Python object in the form of ``expected``."""
    if value is None:
        return None
    if type.name == "ARRAY":
        return [found(v, type.elements[0]) for v in value]
    if type.name == "MAP":
        return sorted([found(v, t) for v, t in zip(pair, type.elements, strict=True)] for pair in value.items())
    if type.name == "ROW":
        return [found(v, f.type) for v, f in zip(value, type.fields, strict=True)]
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if type.name == "TIMESTAMP_LTZ":
        seconds, micros = divmod(value, 10**6)
        return seconds, micros
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return a == b  # the scale is the type's
    return type(a) is type(b) and bool(a == b)


def instant(text: str) -> tuple[int, int]:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    time = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
    seconds = (time - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
    return int(seconds), int(fraction.ljust(6, "0") or 0)


def differences(rows_of: Any, group: list[tuple[Case, TypedExpression]], table: str) -> Iterator[str]:
    """What differs from Flink, in one query for all of them."""
    columns = []
    for at, (case, value) in enumerate(group):
        wrong = [n + 1 for n, v in enumerate(case.values) if isinstance(v, dict)]
        sql = shown(value.sql, flink_type(case.type))
        columns.append(f"if(rn IN ({', '.join(map(str, wrong))}), NULL, {sql}) c{at}" if wrong else f"{sql} c{at}")
    rows = sorted(rows_of.selectExpr("rn", *columns).collect(), key=lambda r: r.rn)
    for at, (case, value) in enumerate(group):
        type = flink_type(case.type)
        for row, wanted in zip(rows, case.values, strict=True):
            if isinstance(wanted, dict):
                continue
            want = expected(wanted, type)
            if type.name == "TIMESTAMP_LTZ" and want is not None:
                want = instant(want)
            got = found(row[f"c{at}"], type)
            if not same(got, want):
                yield f"{table}: {case.expression}: row {row.rn}: {got!r} and not Flink's {want!r}: {value.sql}"


CASES = cases()


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """Spark without generated code, which takes longer to compile than these few rows take to compute."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    names = (*settings, "spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    before = {name: spark.conf.get(name, None) for name in names}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, old in before.items():
        if old is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, old)


@pytest.fixture(scope="module")
def translated() -> dict[tuple[str, str], TypedExpression]:
    return {(case.table, case.expression): typed(case.table, case.expression) for case in CASES}


@pytest.mark.parametrize(
    ("zone", "ansi"), [("UTC", "true"), pytest.param("America/New_York", "false", marks=pytest.mark.long)]
)
def test_values_are_flinks(
    session: Any, translated: dict[tuple[str, str], TypedExpression], zone: str, ansi: str
) -> None:
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.ansi.enabled", ansi)
    chosen = [case for case in CASES if case.zone in ("any", zone)]
    assert len(chosen) > 300
    tables = {name: frame(session, name).cache() for name in INPUTS}  # a plan that is not analyzed again each time
    wrong = [
        difference
        for table in INPUTS
        for difference in differences(
            tables[table], [(c, translated[c.table, c.expression]) for c in chosen if c.table == table], table
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_types_are_flinks(translated: dict[tuple[str, str], TypedExpression]) -> None:
    for case in CASES:
        type, flinks = translated[case.table, case.expression].type, flink_type(case.type)
        if type is not None:
            # Flink knows of made rows that they are not NULL
            assert to_spark_type(type, "c") == to_spark_type(flinks, "c").replace(" NOT NULL", ""), case.expression


def test_what_fails_in_flink_fails_without_ansi(
    session: Any, translated: dict[tuple[str, str], TypedExpression]
) -> None:
    session.conf.set("spark.sql.ansi.enabled", "false")
    failing = [c for c in CASES if any(isinstance(v, dict) for v in c.values) and c.table in ("numbers", "nested")]
    assert len(failing) > 5
    tables = {name: frame(session, name) for name in ("numbers", "nested")}
    for case in failing:
        row = next(n + 1 for n, value in enumerate(case.values) if isinstance(value, dict))
        one = tables[case.table].where(f"rn = {row}")
        with pytest.raises(Exception, match=r"USER_RAISED_EXCEPTION|ARITHMETIC|DIVIDE|CAST"):
            one.selectExpr(translated[case.table, case.expression].sql).collect()
