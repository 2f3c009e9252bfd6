"""Every supported expression returns the same value and type as in Flink.

``flink_values.tsv`` was written by Flink 2.3 or 2.2, with ``FlinkValues.java``: a table of ``flink_inputs.json``, the
session time zone, an expression, its type, and its value for each row of the table, or Flink's error.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_sql.catalog.source_catalog import add_source_catalog
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.expressions.computed import translate_expression
from kafka_sql.sql.expressions.functions.signature import call_java
from kafka_sql.sql.expressions.timestamps import format_timestamp
from kafka_sql.sql.expressions.typed import TypedExpression
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type

pytestmark = pytest.mark.integration
HERE = Path(__file__).parent
# the values that are not Spark's default of settings that change how expressions are read or evaluated
OTHER_SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "true",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
# Java's Math allows these to differ in the last digits between machines
INEXACT = re.compile(r"\b(A?(SIN|COS|TAN)H?|ATAN2|COT|EXP|LN|LOG|LOG2|LOG10|POWER|SQRT)\(")
INPUTS: dict[str, Any] = json.loads((HERE / "flink_inputs.json").read_text())


class Case(NamedTuple):
    """A line of flink_values.tsv."""

    table: str
    time_zone: str  # or "any"
    expression: str
    type: str
    values: list[Any]


def cases(path: Path = HERE / "flink_values.tsv") -> list[Case]:
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [Case(*line[:4], json.loads(line[4])) for line in lines]


def translate(table: str, expression: str) -> TypedExpression:
    ddl = f"CREATE TABLE t ({INPUTS[table]['columns']}, c AS {expression}) WITH ('connector' = 'kafka')"
    columns = parse_declaration(ddl).columns
    node = columns[-1].expression
    assert node is not None
    return translate_expression(node, "c", {c.name: c.type for c in columns if c.type is not None})


def flink_type(text: str) -> FlinkType:
    type = parse_declaration(f"CREATE TABLE t (c {text}) WITH ('connector' = 'kafka')").columns[0].type
    assert type is not None
    return type


def local_dataframe_of(spark: Any, table: str) -> Any:
    """Return the rows of a table as local data: the optimizer computes projections of it, and no code is compiled."""
    frame = dataframe_of(spark, table)
    return spark.createDataFrame(frame.toArrow(), frame.schema)


def dataframe_of(spark: Any, table: str) -> Any:
    """Return the rows of a table as a DataFrame whose projections are computed by tasks."""
    columns = parse_create(f"CREATE TABLE t ({INPUTS[table]['columns']}) WITH ('connector' = 'kafka')").columns
    schema = "rn INT, " + ", ".join(f"`{c.name}` {c.type}" for c in columns)
    rows = [(row,) for row in INPUTS[table]["rows"]]
    # not rdd.toDF(), which uses the most recently created session
    text = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "value STRING")
    return text.selectExpr(f"from_json(value, '{schema}') AS r").selectExpr("r.*")


def comparable_sql(sql: str, type: FlinkType) -> str:
    """Return SQL for the value that depends neither on Python's time zone nor on a setting."""
    if type.name == "TIMESTAMP_LTZ":
        return f"unix_micros({sql})"
    if type.name == "DATE":
        return f"substring_index(CAST(CAST({sql} AS TIMESTAMP_NTZ) AS STRING), ' ', 1)"
    return f"CAST({sql} AS STRING)" if type.name == "TIMESTAMP" else sql


def expected_value(value: Any, type: FlinkType) -> Any:
    """Return Flink's value as Spark's Python object."""
    if value is None:
        return None
    if type.name == "ARRAY":
        return [expected_value(v, type.elements[0]) for v in value]
    if type.name == "MAP":
        return sorted([expected_value(v, t) for v, t in zip(pair, type.elements, strict=True)] for pair in value)
    if type.name == "ROW":
        return [expected_value(v, f.type) for v, f in zip(value, type.fields, strict=True)]
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


def actual_value(value: Any, type: FlinkType) -> Any:
    """Return Spark's Python object in the form of ``expected_value``."""
    if value is None:
        return None
    if type.name == "ARRAY":
        return [actual_value(v, type.elements[0]) for v in value]
    if type.name == "MAP":
        return sorted([actual_value(v, t) for v, t in zip(pair, type.elements, strict=True)] for pair in value.items())
    if type.name == "ROW":
        return [actual_value(v, f.type) for v, f in zip(value, type.fields, strict=True)]
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if type.name == "TIMESTAMP_LTZ":
        seconds, micros = divmod(value, 10**6)
        return seconds, micros
    return value


def equal(a: Any, b: Any, exact: bool = True) -> bool:
    if not exact and isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-15):
        return True
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return a == b  # the scale is part of the type
    return type(a) is type(b) and bool(a == b)


def to_seconds_and_micros(text: str) -> tuple[int, int]:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    time = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
    seconds = (time - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
    return int(seconds), int(fraction.ljust(6, "0") or 0)


Group = list[tuple[Case, TypedExpression]]  # of one table
Translations = dict[tuple[str, str], TypedExpression]  # by table and expression


def columns_of(group: Group) -> list[str]:
    """Return the SQL of columns with the number of the row, and with the values; NULL where Flink has an error."""
    columns = ["rn"]
    for index, (case, value) in enumerate(group):
        failing_rows = [n + 1 for n, v in enumerate(case.values) if isinstance(v, dict)]
        sql = comparable_sql(value.sql, flink_type(case.type))
        if failing_rows:
            sql = f"if(rn IN ({', '.join(map(str, failing_rows))}), NULL, {sql})"
        columns.append(f"{sql} c{index}")
    return columns


def differences(dataframe: Any, group: Group, table: str) -> Iterator[str]:
    """Yield all differences of a DataFrame of ``columns_of(group)`` from Flink."""
    rows = sorted(dataframe.collect(), key=lambda r: r.rn)
    for index, (case, value) in enumerate(group):
        type = flink_type(case.type)
        for row, flink_value in zip(rows, case.values, strict=True):
            if isinstance(flink_value, dict):
                continue
            expected = expected_value(flink_value, type)
            if type.name == "TIMESTAMP_LTZ" and expected is not None:
                expected = to_seconds_and_micros(expected)
            actual = actual_value(row[f"c{index}"], type)
            if not equal(actual, expected, exact=not INEXACT.search(case.expression)):
                yield f"{table}: {case.expression}: row {row.rn}: {actual!r}, in Flink {expected!r}: {value.sql}"


CASES = cases()


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """Return a session without code generation, which would take longer than evaluating these few rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    add_source_catalog(spark, spark.sql)
    names = (*settings, *OTHER_SETTINGS, "spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    previous_settings = {name: spark.conf.get(name, None) for name in names}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, old in previous_settings.items():
        if old is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, old)


@pytest.fixture(scope="module")
def translations() -> Translations:
    return {(case.table, case.expression): translate(case.table, case.expression) for case in CASES}


def group_of(table: str, cases: list[Case], translations: Translations) -> Group:
    return [(case, translations[case.table, case.expression]) for case in cases if case.table == table]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("time_zone", "settings", "part"),
    [
        pytest.param("UTC", {}, slice(0, None, 2), id="half"),
        pytest.param("UTC", OTHER_SETTINGS, slice(1, None, 2), id="half-other_settings"),
        pytest.param("UTC", {}, slice(1, None, 2), marks=pytest.mark.long, id="other_half"),
        pytest.param("UTC", OTHER_SETTINGS, slice(0, None, 2), marks=pytest.mark.long, id="other_half-other_settings"),
        pytest.param(
            "America/New_York",
            {**OTHER_SETTINGS, "spark.sql.ansi.enabled": "false"},
            slice(None),
            marks=pytest.mark.long,
            id="other_time_zone-in_tasks",
        ),
    ],
)
def test_values_equal_flinks(
    session: Any, translations: Translations, time_zone: str, settings: dict[str, str], part: slice
) -> None:
    session.conf.set("spark.sql.session.timeZone", time_zone)
    cases = [case for case in CASES if case.time_zone in ("any", time_zone)][part]
    assert len(cases) > 300
    # in tasks, it takes minutes: they compile the expressions
    is_local = "spark.sql.ansi.enabled" not in settings
    tables = {n: local_dataframe_of(session, n) if is_local else dataframe_of(session, n).cache() for n in INPUTS}
    for name, value in settings.items():
        session.conf.set(name, value)
    groups = {table: group_of(table, cases, translations) for table in INPUTS}
    failures = [
        difference
        for table, group in groups.items()
        for difference in differences(tables[table].selectExpr(*columns_of(group)), group, table)
    ]
    assert not failures, "\n".join(failures)


def test_time_zone_is_that_of_the_query(session: Any, translations: Translations) -> None:
    """A view keeps the time zone of CREATE VIEW, but expressions have that of the session that selects from it."""
    time_zone = "America/New_York"
    cases = [case for case in CASES if case.time_zone == time_zone]
    groups = {table: group for table in INPUTS if (group := group_of(table, cases, translations))}
    for table, group in groups.items():
        local_dataframe_of(session, table).createTempView(f"{table}_inputs")
        session.sql(f"CREATE TEMPORARY VIEW {table} AS SELECT {', '.join(columns_of(group))} FROM {table}_inputs")
    session.conf.set("spark.sql.session.timeZone", time_zone)
    failures = [d for table, group in groups.items() for d in differences(session.table(table), group, table)]
    for table in groups:
        session.catalog.dropTempView(table)
        session.catalog.dropTempView(f"{table}_inputs")
    assert not failures, "\n".join(failures)


def test_types_equal_flinks(translations: Translations) -> None:
    for case in CASES:
        type, flink = translations[case.table, case.expression].type, flink_type(case.type)
        if type is not None:
            # in Flink, constructed rows are NOT NULL
            assert to_spark_type(type, "c") == to_spark_type(flink, "c").replace(" NOT NULL", ""), case.expression


def test_times_of_years_without_four_digits(session: Any) -> None:
    times = [
        "2024-01-02 03:04:05",
        "+10000-01-02 03:04:05.1",
        "+294247-01-10 04:00:54.775807",
        "-0001-12-31 23:59:59.99",
    ]
    values = ", ".join(f"(TIMESTAMP_NTZ '{time}')" for time in times)
    selected = [format_timestamp("t", precision) for precision in (0, 3, 6)]
    selected.append(call_java("date_format", "t", "'yyyy/MM HH.SSS'"))
    rows = session.sql(f"SELECT {', '.join(selected)} FROM VALUES {values} AS v(t)").collect()
    assert [tuple(row) for row in rows] == [
        ("2024-01-02 03:04:05", "2024-01-02 03:04:05.000", "2024-01-02 03:04:05.000000", "2024/01 03.000"),
        ("+10000-01-02 03:04:05", "+10000-01-02 03:04:05.100", "+10000-01-02 03:04:05.100000", "+10000/01 03.100"),
        ("+294247-01-10 04:00:54", "+294247-01-10 04:00:54.775", "+294247-01-10 04:00:54.775807", "+294247/01 04.775"),
        ("-0001-12-31 23:59:59", "-0001-12-31 23:59:59.990", "-0001-12-31 23:59:59.990000", "0002/12 23.990"),
    ]


def test_flinks_errors_are_raised_without_ansi_mode(session: Any, translations: Translations) -> None:
    session.conf.set("spark.sql.ansi.enabled", "false")
    failing = [c for c in CASES if any(isinstance(v, dict) for v in c.values) and c.table in ("numbers", "nested")]
    assert len(failing) > 5
    tables = {name: local_dataframe_of(session, name) for name in ("numbers", "nested")}
    for case in failing:
        row = next(n + 1 for n, value in enumerate(case.values) if isinstance(value, dict))
        row_dataframe = tables[case.table].where(f"rn = {row}")
        with pytest.raises(Exception, match=r"USER_RAISED_EXCEPTION|ARITHMETIC|DIVIDE|CAST"):
            row_dataframe.selectExpr(translations[case.table, case.expression].sql).collect()
