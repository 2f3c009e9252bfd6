"""Types of any nesting are read as they were written, and what is nested too deeply is an error, quickly."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.grammar.dialect import parse_declaration
from kafka_sql.sql.grammar.types import Field, FlinkType
from kafka_sql.table.declaration import Table
from tests.hypothesis_examples import examples

LEAVES = st.one_of(
    st.sampled_from(
        [FlinkType(name) for name in ("INT", "BIGINT", "BOOLEAN", "FLOAT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME")]
    ),
    st.builds(lambda n: FlinkType("VARCHAR", (n,)), st.integers(1, 99)),
    st.builds(lambda n: FlinkType("TIMESTAMP", (n,)), st.integers(0, 6)),
    st.builds(lambda n: FlinkType("TIMESTAMP_LTZ", (n,)), st.integers(0, 6)),
    st.builds(lambda p, s: FlinkType("DECIMAL", (p, min(p, s))), st.integers(1, 38), st.integers(0, 38)),
)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


def nullability(types: st.SearchStrategy[FlinkType]) -> st.SearchStrategy[FlinkType]:
    return st.builds(lambda t, n: FlinkType(t.name, t.sizes, t.elements, t.fields, n), types, st.booleans())


def nested(types: st.SearchStrategy[FlinkType]) -> st.SearchStrategy[FlinkType]:
    inner = nullability(types)
    field = st.builds(Field, NAMES, inner, st.none() | NAMES)
    return st.one_of(
        st.builds(lambda t: FlinkType("ARRAY", elements=(t,)), inner),
        st.builds(lambda t: FlinkType("MULTISET", elements=(t,)), inner),
        st.builds(lambda k, v: FlinkType("MAP", elements=(k, v)), inner, inner),
        st.builds(lambda fs: FlinkType("ROW", fields=tuple(fs)), st.lists(field, max_size=4)),
    )


def quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


def written(type: FlinkType) -> str:
    text = type.name
    if type.sizes:
        text += f"({', '.join(map(str, type.sizes))})"
    if type.elements:
        text += f"<{', '.join(map(written, type.elements))}>"
    if type.name == "ROW":
        fields = (
            f"{quoted(f.name, '`')} {written(f.type)}" + ("" if f.comment is None else f" {quoted(f.comment, chr(39))}")
            for f in type.fields
        )
        text += f"<{', '.join(fields)}>"
    return text if type.nullable else text + " NOT NULL"


@examples(60)
@given(nullability(st.recursive(LEAVES, nested, max_leaves=6)))
def test_a_type_is_read_as_it_was_written(type: FlinkType) -> None:
    sql = f"CREATE TABLE t (c {written(type)}) WITH ('connector' = 'kafka')"
    assert parse_declaration(sql).columns[0].type == type


def declared(expression: str) -> Table:
    return parse_create(f"CREATE TABLE t (i INT, o BOOLEAN, c AS {expression}) WITH ('connector' = 'kafka')")


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 500 + "i" + ")" * 500,
        "-" * 1 + " -" * 500 + " i",
        "NOT " * 500 + "o",
        "UPPER(" * 500 + "i" + ")" * 500,
        "ARRAY[" * 500 + "i" + "]" * 500,
        "CASE WHEN o THEN " * 500 + "1" + " END" * 500,
        "CAST(i AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ")",
    ],
    ids=lambda e: e[:6],
)
def test_deep_nesting_is_an_error(expression: str) -> None:
    with pytest.raises(SqlSyntaxError, match="is nested more than 50 levels deep"):
        declared(expression)


def test_forty_levels_are_read() -> None:
    assert declared("(" * 40 + "i" + ")" * 40).columns[-1].expression == "`i`"
    deep = parse_create(f"CREATE TABLE t (c {'ARRAY<' * 40}INT{'>' * 40}) WITH ('connector' = 'kafka')")
    assert deep.columns[0].type == "ARRAY<" * 40 + "INT" + ">" * 40


@given(st.text(st.sampled_from(list("`'\"()[]<>,.;-+*/%|=!~é😀\\\u0000 \n0aisNOT")), max_size=40))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(KafkaSqlError):
        declared(text)
