"""Any expression of Flink's grammar is translated or raises a KafkaSqlError."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.expressions.functions.function_table import _TRANSLATIONS, _UNSUPPORTED
from tests.hypothesis_examples import examples

COLUMNS = {
    "i": "INT",
    "n": "SMALLINT",
    "b": "BIGINT",
    "d": "DECIMAL(10, 2)",
    "f": "FLOAT",
    "x": "DOUBLE",
    "s": "STRING",
    "o": "BOOLEAN",
    "y": "BYTES",
    "day": "DATE",
    "ts": "TIMESTAMP(3)",
    "tl": "TIMESTAMP_LTZ(3)",
    "arr": "ARRAY<INT>",
    "m": "MAP<STRING, INT>",
    "r": "ROW<a INT>",
}
TYPES = ["TINYINT", *COLUMNS.values(), "CHAR(3)", "VARCHAR(2)", "BINARY(2)", "TIME", "DECIMAL", "TIMESTAMP(9)"]
DIGITS = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from([str(2**n + e) for n in (7, 15, 31, 63) for e in (-1, 0, 1)]),
    st.integers(0, 10**45).map(str),
)
NUMBERS = st.one_of(
    DIGITS,
    st.builds("{}.{}".format, DIGITS | st.just(""), DIGITS),
    st.builds("{}{}{}".format, DIGITS | st.sampled_from(["1.5", ".5"]), st.sampled_from(["e", "E-", "e+"]), DIGITS),
)
LITERALS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["", "-", "- -", "+"]), NUMBERS),
    st.sampled_from(
        ["NULL", "TRUE", "''", "'a'", "'%'", "'yyyy'", "DATE '2020-02-30'", "TIMESTAMP '2020-01-01 00:00:00.5'"]
    ),
)
OPERATORS = ["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE", "IS DISTINCT FROM"]


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.lists(inner, max_size=4).map(", ".join)
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({}{})".format, st.sampled_from(["- ", "+ ", "NOT "]), inner),
        st.builds("({} {} {} AND {})".format, inner, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), inner, inner),
        st.builds("({} IN ({}, {}))".format, inner, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("CASE {} WHEN {} THEN {} END".format, inner, inner, inner),
        st.builds("{}({} AS {})".format, st.sampled_from(["CAST", "TRY_CAST"]), inner, st.sampled_from(TYPES)),
        st.builds("{}({})".format, st.sampled_from(sorted({*_TRANSLATIONS, *_UNSUPPORTED})), arguments),
        st.builds("({} - INTERVAL '{}' {})".format, inner, DIGITS, st.sampled_from(["DAY", "MONTH", "WEEK", "SECOND"])),
        st.builds("{}[{}]".format, inner, inner),
    )


EXPRESSIONS = st.recursive(LITERALS | st.sampled_from(list(COLUMNS)), compound, max_leaves=6)


@examples(400)
@given(EXPRESSIONS)
def test_any_expression_is_translated_or_raises(expression: str) -> None:
    columns = ", ".join(f"{name} {type}" for name, type in COLUMNS.items())
    with contextlib.suppress(KafkaSqlError):
        table = parse_create(f"CREATE TABLE t ({columns}, c AS {expression}) WITH ('connector' = 'kafka')")
        assert table.columns[-1].expression
