"""A text with several statements in one call of sql() is an error that says so."""

from __future__ import annotations

import pytest
from pyspark.errors import ParseException

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.sql.errors.conversion import explain_several_statements

SPARK = ParseException(message="extra input", errorClass="PARSE_SYNTAX_ERROR")
FLINK = SqlSyntaxError("line 1, column 3: expected the end of the statement.")


@pytest.mark.parametrize("error", [SPARK, FLINK], ids=["Spark", "Flink"])
def test_the_statements_are_counted(error: Exception) -> None:
    with (
        pytest.raises(SqlSyntaxError) as raised,
        explain_several_statements("SET 'a' = ';'; SELECT 1;\n-- ;\nSELECT 2"),
    ):
        raise error
    assert str(raised.value) == (
        "[SQL_SYNTAX] spark.sql() runs one statement, but this text has 3. Run them one by one, or save them to a file "
        "and run it with kafka-sql -f FILE."
    )
    assert isinstance(raised.value, type(error))


@pytest.mark.parametrize("text", ["SELEC 1;", "SELEC ';'", "BEGIN SELECT 1; SELEC 2; END"])
def test_errors_of_one_statement_stay(text: str) -> None:
    with pytest.raises(ParseException) as raised, explain_several_statements(text):
        raise SPARK
    assert raised.value is SPARK
