"""Nested types are parsed correctly, and too deep nesting is rejected quickly."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.grammar.types import Field, FlinkType
from kafka_sql.table.table import Table
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


def with_nullability(types: st.SearchStrategy[FlinkType]) -> st.SearchStrategy[FlinkType]:
    return st.builds(lambda t, n: FlinkType(t.name, t.sizes, t.elements, t.fields, n), types, st.booleans())


def nested_types(types: st.SearchStrategy[FlinkType]) -> st.SearchStrategy[FlinkType]:
    inner = with_nullability(types)
    field = st.builds(Field, NAMES, inner, st.none() | NAMES)
    return st.one_of(
        st.builds(lambda t: FlinkType("ARRAY", elements=(t,)), inner),
        st.builds(lambda t: FlinkType("MULTISET", elements=(t,)), inner),
        st.builds(lambda k, v: FlinkType("MAP", elements=(k, v)), inner, inner),
        st.builds(lambda fs: FlinkType("ROW", fields=tuple(fs)), st.lists(field, max_size=4)),
    )


def quote(text: str, quote_character: str) -> str:
    return quote_character + text.replace(quote_character, quote_character * 2) + quote_character


def render(type: FlinkType) -> str:
    text = type.name
    if type.sizes:
        text += f"({', '.join(map(str, type.sizes))})"
    if type.elements:
        text += f"<{', '.join(map(render, type.elements))}>"
    if type.name == "ROW":
        fields = (
            f"{quote(f.name, '`')} {render(f.type)}" + ("" if f.comment is None else f" {quote(f.comment, chr(39))}")
            for f in type.fields
        )
        text += f"<{', '.join(fields)}>"
    return text if type.nullable else text + " NOT NULL"


@examples(60)
@given(with_nullability(st.recursive(LEAVES, nested_types, max_leaves=6)))
def test_types_are_parsed_as_rendered(type: FlinkType) -> None:
    sql = f"CREATE TABLE t (c {render(type)}) WITH ('connector' = 'kafka')"
    assert parse_declaration(sql).columns[0].type == type


def create_table(expression: str) -> Table:
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
def test_deep_nesting_is_rejected(expression: str) -> None:
    with pytest.raises(SqlSyntaxError, match="is nested more than 50 levels deep"):
        create_table(expression)


def test_forty_levels_are_supported() -> None:
    assert create_table("(" * 40 + "i" + ")" * 40).columns[-1].expression == "`i`"
    deep = parse_create(f"CREATE TABLE t (c {'ARRAY<' * 40}INT{'>' * 40}) WITH ('connector' = 'kafka')")
    assert deep.columns[0].type == "ARRAY<" * 40 + "INT" + ">" * 40


@given(st.text(st.sampled_from(list("`'\"()[]<>,.;-+*/%|=!~é😀\\\u0000 \n0aisNOT")), max_size=40))
def test_any_text_parses_or_raises(text: str) -> None:
    with contextlib.suppress(KafkaSqlError):
        create_table(text)
