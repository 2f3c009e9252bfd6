"""SQL files as tests: each of ``good`` declares what stands beside it, each of ``bad`` fails as its first line says.

A file holds one CREATE TABLE, or several statements, CREATE TABLE with LIKE and ALTER TABLE among them, each with a
semicolon and a line's end behind it; the last one's table is looked at.

``python -m tests.unit.sql.test_ddl_files`` writes what stands beside the good ones anew; read the difference before you
keep it.
"""

import re
from pathlib import Path

import pytest

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_create, parse_statement, to_declaration, to_table
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.grammar.dialect import parse_alteration, parse_declaration
from kafka_sql.sql.recognize.classify import AlterTable, CreateTable, classify
from kafka_sql.table.declaration import Column, Table

FOLDER = Path(__file__).parents[2] / "sql" / "ddl"
GOOD = sorted((FOLDER / "good").glob("*.sql"))
BAD = sorted((FOLDER / "bad").glob("*.sql"))
ERROR = "-- error: "


def last_table(text: str) -> Table:
    """The table of a file's last statement."""
    tables: dict[tuple[str, ...], Table] = {}
    statements = [s for s in re.split(r"(?<=;)\n(?=CREATE|ALTER)", text) if s.strip()]
    if len(statements) == 1:
        return parse_create(text)
    table = None
    for sql in statements:
        found = classify(sql)
        if isinstance(found, AlterTable):
            table = to_table(
                apply_alteration(to_declaration(tables[found.name]), parse_statement(sql, parse_alteration))
            )
        else:
            assert isinstance(found, CreateTable)
            declaration = parse_statement(sql, parse_declaration)
            if declaration.like is not None:
                declaration = merge_like(declaration, to_declaration(tables[declaration.like.base]))
            table = to_table(declaration)
        tables[table.name] = table
    assert table is not None
    return table


def text_of(table: Table) -> str:
    """Everything that a table says, a fact a line."""
    facts = [f"table {table.name}{' temporary' * table.temporary}{' if not exists' * table.if_not_exists}"]
    facts += [fact_of(column) for column in table.columns]
    constraint = f" constraint {table.primary_key_name!r}" if table.primary_key_name is not None else ""
    facts += [f"key {table.primary_key}{constraint}"] if table.primary_key else []
    if table.watermark is not None:
        facts.append(f"watermark {table.watermark.column} delay {table.watermark.delay} <- {table.watermark.declared}")
    facts += [f"comment {table.comment!r}"] if table.comment is not None else []
    facts += [f"option {key!r} = {value!r}" for key, value in table.options.items()]
    return "\n".join(facts) + "\n"


def fact_of(column: Column) -> str:
    fact = f"column {column.name!r} {column.type or column.expression}{'' if column.nullable else ' NOT NULL'}"
    fact += f" metadata {column.metadata!r}{' virtual' * column.virtual}" if column.metadata is not None else ""
    fact += f" comment {column.comment!r}" if column.comment is not None else ""
    return f"{fact} <- {column.declared}"


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good(path: Path) -> None:
    table = last_table(path.read_text())
    assert text_of(table) == path.with_suffix(".expected").read_text()
    assert isinstance(classify(render_create_table(table)), CreateTable)
    assert parse_create(render_create_table(table)) == table


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad(path: Path) -> None:
    sql = path.read_text()
    first = sql.partition("\n")[0]
    assert first.startswith(ERROR)
    condition, _, words = first.removeprefix(ERROR).partition(": ")
    with pytest.raises(KafkaSqlError) as e:
        last_table(sql)
    assert e.value.condition() == condition
    assert words in str(e.value)


def test_there_are_files() -> None:
    assert len(GOOD) >= 75
    assert len(BAD) >= 95


if __name__ == "__main__":
    for good in GOOD:
        good.with_suffix(".expected").write_text(text_of(last_table(good.read_text())))
