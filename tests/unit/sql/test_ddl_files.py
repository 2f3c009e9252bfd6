"""SQL files as tests: those in ``good`` declare the table in ``.expected``, those in ``bad`` raise the error they name.

A file contains one CREATE TABLE, or several statements (CREATE TABLE, CREATE TABLE ... LIKE, ALTER TABLE), each ending
with a semicolon and a newline. The table of the last statement is tested.

``python -m tests.unit.sql.test_ddl_files`` rewrites the ``.expected`` files; review the diff before committing it.
"""

import re
from pathlib import Path

import pytest

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_create, to_declaration, to_table
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.grammar.parser import parse_alteration, parse_declaration
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.statement_types import AlterTable, CreateTable
from kafka_sql.table.table import Column, Table

FOLDER = Path(__file__).parents[2] / "sql" / "ddl"
GOOD = sorted((FOLDER / "good").glob("*.sql"))
BAD = sorted((FOLDER / "bad").glob("*.sql"))
ERROR = "-- error: "


def last_table(text: str) -> Table:
    """Return the table of the last statement in a file."""
    tables: dict[tuple[str, ...], Table] = {}
    statements = [s for s in re.split(r"(?<=;)\n(?=CREATE|ALTER)", text) if s.strip()]
    if len(statements) == 1:
        return parse_create(text)
    table = None
    for sql in statements:
        statement = classify(sql)
        if isinstance(statement, AlterTable):
            table = to_table(apply_alteration(to_declaration(tables[statement.name]), parse_alteration(sql)))
        else:
            assert isinstance(statement, CreateTable)
            declaration = parse_declaration(sql)
            if declaration.like is not None:
                declaration = merge_like(declaration, to_declaration(tables[declaration.like.base]))
            table = to_table(declaration)
        tables[table.name] = table
    assert table is not None
    return table


def describe_table(table: Table) -> str:
    """Describe all properties of a table, one per line."""
    lines = [f"table {table.name}{' temporary' * table.temporary}{' if not exists' * table.if_not_exists}"]
    lines += [describe_column(column) for column in table.columns]
    constraint = f" constraint {table.primary_key_name!r}" if table.primary_key_name is not None else ""
    lines += [f"key {table.primary_key}{constraint}"] if table.primary_key else []
    if table.watermark is not None:
        lines.append(f"watermark {table.watermark.column} delay {table.watermark.delay} <- {table.watermark.declared}")
    lines += [f"comment {table.comment!r}"] if table.comment is not None else []
    lines += [f"option {key!r} = {value!r}" for key, value in table.options.items()]
    return "\n".join(lines) + "\n"


def describe_column(column: Column) -> str:
    line = f"column {column.name!r} {column.type or column.expression}{'' if column.nullable else ' NOT NULL'}"
    line += f" metadata {column.metadata!r}{' virtual' * column.virtual}" if column.metadata is not None else ""
    line += f" comment {column.comment!r}" if column.comment is not None else ""
    return f"{line} <- {column.declared}"


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_valid_statements(path: Path) -> None:
    table = last_table(path.read_text())
    assert describe_table(table) == path.with_suffix(".expected").read_text()
    assert isinstance(classify(render_create_table(table)), CreateTable)
    assert parse_create(render_create_table(table)) == table


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_invalid_statements(path: Path) -> None:
    sql = path.read_text()
    first_line = sql.partition("\n")[0]
    assert first_line.startswith(ERROR)
    condition, _, message = first_line.removeprefix(ERROR).partition(": ")
    with pytest.raises(KafkaSqlError) as e:
        last_table(sql)
    assert e.value.condition() == condition
    assert message in str(e.value)


def test_number_of_files() -> None:
    assert len(GOOD) >= 75
    assert len(BAD) >= 95


if __name__ == "__main__":
    for good in GOOD:
        good.with_suffix(".expected").write_text(describe_table(last_table(good.read_text())))
