"""Test the Spark types of Flink's data types."""

import pytest

from kafka_sql.errors import SchemaError, SqlSyntaxError
from kafka_sql.sql.declarations.create import parse_create


def column_type(flink: str) -> str | None:
    return parse_create(f"CREATE TABLE t (c {flink}) WITH ('connector' = 'kafka')").columns[0].type


@pytest.mark.parametrize(
    ("flink", "spark"),
    [
        ("CHAR", "STRING"),
        ("CHAR(3)", "STRING"),
        ("CHARACTER(3)", "STRING"),
        ("CHAR VARYING(3)", "STRING"),
        ("VARCHAR", "STRING"),
        ("VARCHAR(20)", "STRING"),
        ("STRING", "STRING"),
        ("string", "STRING"),
        ("BOOLEAN", "BOOLEAN"),
        ("BINARY(4)", "BINARY"),
        ("VARBINARY(4)", "BINARY"),
        ("BYTES", "BINARY"),
        ("DECIMAL", "DECIMAL(10,0)"),
        ("DECIMAL(5)", "DECIMAL(5,0)"),
        ("DEC(5, 2)", "DECIMAL(5,2)"),
        ("NUMERIC(38, 38)", "DECIMAL(38,38)"),
        ("TINYINT", "TINYINT"),
        ("SMALLINT", "SMALLINT"),
        ("INT", "INT"),
        ("INTEGER", "INT"),
        ("BIGINT", "BIGINT"),
        ("FLOAT", "FLOAT"),
        ("DOUBLE", "DOUBLE"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DATE", "DATE"),
        ("TIME", "TIME(6)"),
        ("TIME(6)", "TIME(6)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(6)"),
        ("TIMESTAMP", "TIMESTAMP_NTZ"),
        ("TIMESTAMP(3)", "TIMESTAMP_NTZ"),
        ("TIMESTAMP(6) WITHOUT TIME ZONE", "TIMESTAMP_NTZ"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP_NTZ"),
        ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ"),
        ("TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ"),
        ("ARRAY<INT>", "ARRAY<INT>"),
        ("ARRAY<INT NOT NULL>", "ARRAY<INT>"),
        ("INT ARRAY", "ARRAY<INT>"),
        ("INT NOT NULL ARRAY", "ARRAY<INT>"),
        ("INT ARRAY ARRAY", "ARRAY<ARRAY<INT>>"),
        ("MAP<STRING, ARRAY<INT>>", "MAP<STRING, ARRAY<INT>>"),
        ("MAP<STRING NOT NULL, INT NULL>", "MAP<STRING, INT>"),
        ("MULTISET<STRING>", "MAP<STRING, INT>"),
        ("STRING MULTISET", "MAP<STRING, INT>"),
        ("ROW<a INT, b STRING>", "STRUCT<`a`: INT, `b`: STRING>"),
        ("ROW(a INT, b STRING)", "STRUCT<`a`: INT, `b`: STRING>"),
        ("ROW<>", "STRUCT<>"),
        ("ROW<a INT NOT NULL 'it''s'>", "STRUCT<`a`: INT NOT NULL COMMENT 'it\\'s'>"),
        ("ROW<`a b` ROW<c TIMESTAMP(3)>>", "STRUCT<`a b`: STRUCT<`c`: TIMESTAMP_NTZ>>"),
        ("ROW<a``b INT>".replace("a``b", "`a``b`"), "STRUCT<`a``b`: INT>"),
        ("ARRAY<ROW<x INT NOT NULL> NOT NULL> NOT NULL", "ARRAY<STRUCT<`x`: INT NOT NULL>>"),
    ],
)
def test_supported_types(flink: str, spark: str) -> None:
    assert column_type(flink) == spark


@pytest.mark.parametrize(
    ("spark", "flink"),
    [
        ("BYTE", "TINYINT"),
        ("short", "SMALLINT"),
        ("LONG", "BIGINT"),
        ("REAL", "FLOAT"),
        ("TIMESTAMP_NTZ", "TIMESTAMP"),
        ("ARRAY<LONG>", "ARRAY<BIGINT>"),
        ("MAP<STRING, STRUCT<a: LONG>>", "MAP<STRING, ROW<`a` BIGINT>>"),
        ("STRUCT<>", "ROW<>"),
        ("STRUCT<a: LONG, b STRING>", "ROW<`a` BIGINT, `b` STRING>"),
        (
            "STRUCT<a: INT NOT NULL COMMENT 'it''s', `b c`: DEC(5, 2)>",
            "ROW<`a` INT NOT NULL 'it''s', `b c` DECIMAL(5, 2)>",
        ),
        ("STRUCT<a: ARRAY<INT NOT NULL> NOT NULL>", "ROW<`a` ARRAY<INT NOT NULL> NOT NULL>"),
        ("STRUCT<a: TIMESTAMP(3) WITH LOCAL TIME ZONE>", "ROW<`a` TIMESTAMP_LTZ(3)>"),
    ],
)
def test_names_of_spark(spark: str, flink: str) -> None:
    declared = [
        parse_create(f"CREATE TABLE t (c {type}) WITH ('connector' = 'kafka')").columns[0] for type in (spark, flink)
    ]
    assert declared[0] == declared[1]
    assert declared[0].declared == flink


@pytest.mark.parametrize(
    ("flink", "message"),
    [
        ("VOID", "Column 'c': type VOID is not supported: a column of this type has no values."),
        ("TIME(8)", "Column 'c': TIME(8) is not supported: Spark has microseconds, which is precision 6"),
        ("TIMESTAMP(10)", "the precision of TIMESTAMP must be between 0 and 9"),
        ("DECIMAL(39)", "Column 'c': DECIMAL(39): the precision of DECIMAL must be between 1 and 38"),
        ("DECIMAL(0)", "the precision of DECIMAL must be between 1 and 38"),
        ("DECIMAL(4, 5)", "the scale of DECIMAL must be between 0 and the precision 4"),
        ("INTERVAL DAY TO SECOND(3)", "Column 'c': type INTERVAL DAY TO SECOND(3) is not supported"),
        ("INTERVAL YEAR(4) TO MONTH", "Column 'c': type INTERVAL YEAR(4) TO MONTH is not supported"),
        ("RAW('org.my.Class', 'c2Vy')", "Column 'c': type RAW('org.my.Class', 'c2Vy') is not supported"),
        ("TIMESTAMP(3) WITH TIME ZONE", "Use TIMESTAMP_LTZ(p)"),
        ("STRUCTURED<'org.my.Class', a INT>", "Use ROW<...>"),
        ("SYMBOL", "Column 'c': type SYMBOL is not supported"),
        ("VARIANT", "Column 'c': type VARIANT is not supported"),
        ("BIGIT", "Column 'c': unknown type 'BIGIT'. Did you mean 'BIGINT'?"),
        ("Varchr(20)", "Column 'c': unknown type 'Varchr(20)'. Did you mean 'VARCHAR'?"),
        ("XYZZY", "Column 'c': unknown type 'XYZZY'."),
        ("ROW<a INT, b ROW<x TIME(9)>>", "Column 'c.b.x': TIME(9) is not supported"),
        ("ARRAY<ROW<x UUID>>", "Column 'c.x': unknown type 'UUID'"),
        ("ROW<a INT, A INT>", "Column 'c': the ROW has more than one field 'A'"),
    ],
)
def test_unsupported_types(flink: str, message: str) -> None:
    with pytest.raises(SchemaError) as e:
        column_type(flink)
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("flink", "message"),
    [
        ("", "expected the type of column 'c'"),
        ("NOT NULL", "expected the type of column 'c'"),
        ("`INT`", "expected the type of column 'c'"),
        ("ARRAY", "expected '<' after ARRAY"),
        ("ARRAY<INT", "expected '>' after the type of the elements of ARRAY"),
        ("MAP<INT>", "expected ',' and the type of the values of MAP"),
        ("DECIMAL(1, 2, 3)", "expected ')' after the size of the type"),
        ("TIMESTAMP(3, 3)", "expected ')' after the size of the type"),
        ("DECIMAL(1.5)", "expected an integer"),
        ("DECIMAL(1.5000000000)", "expected an integer"),
        ("VARCHAR(2147483648)", "the number is too large"),
        ("ROW<a INT,>", "expected the name of a field of ROW"),
        ("ROW<a>", "expected the type of field 'a'"),
        ("ROW(a INT>", "expected ',' or ')' after a field of ROW"),
        ("STRUCT<a>", "expected the type of field 'a'"),
        ("STRUCT<a: INT b: INT>", "expected ',' or '>' after a field of STRUCT"),
        ("STRUCTURED<'x'", "unclosed bracket"),
    ],
)
def test_invalid_types(flink: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError) as e:
        column_type(flink)
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("flink", "declared", "nullable"),
    [
        ("decimal ( 10 , 2 ) not null", "decimal ( 10 , 2 )", False),
        ("INT NULL", "INT", True),
        ("INT NOT NULL ARRAY NOT NULL", "INT NOT NULL ARRAY", False),
        ("ROW<a INT NOT NULL 'x'> NOT NULL", "ROW<a INT NOT NULL 'x'>", False),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE", True),
    ],
)
def test_declared_type_excludes_nullability(flink: str, declared: str, nullable: bool) -> None:
    column = parse_create(f"CREATE TABLE t (c {flink}) WITH ('connector' = 'kafka')").columns[0]
    assert (column.declared, column.nullable) == (declared, nullable)
