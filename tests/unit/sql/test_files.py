"""SQL files as tests: each of ``good`` declares what stands beside it, each of ``bad`` fails as its first line says.

``python -m tests.unit.sql.test_files`` writes what stands beside the good ones anew; read the difference before you
keep it.
"""

from pathlib import Path

import pytest

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.create import parse_create
from kafka_sql.sql.render import show_create
from kafka_sql.sql.statements import CreateTable, kind
from kafka_sql.table import Column, Table

FOLDER = Path(__file__).parents[2] / "sql" / "ddl"
GOOD = sorted((FOLDER / "good").glob("*.sql"))
BAD = sorted((FOLDER / "bad").glob("*.sql"))
ERROR = "-- error: "


def text_of(table: Table) -> str:
    """Everything that a table says, a fact a line."""
    facts = [f"table {table.name}{' temporary' * table.temporary}{' if not exists' * table.if_not_exists}"]
    facts += [fact_of(column) for column in table.columns]
    facts += [f"key {table.primary_key}"] if table.primary_key else []
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
    sql = path.read_text()
    table = parse_create(sql)
    assert text_of(table) == path.with_suffix(".expected").read_text()
    assert isinstance(kind(sql), CreateTable)
    again = parse_create(show_create(table))
    assert (again.columns, again.primary_key, again.watermark) == (table.columns, table.primary_key, table.watermark)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad(path: Path) -> None:
    sql = path.read_text()
    first = sql.partition("\n")[0]
    assert first.startswith(ERROR)
    condition, _, words = first.removeprefix(ERROR).partition(": ")
    with pytest.raises(KafkaSqlError) as e:
        parse_create(sql)
    assert e.value.condition() == condition
    assert words in str(e.value)


def test_there_are_files() -> None:
    assert len(GOOD) >= 13
    assert len(BAD) >= 36


if __name__ == "__main__":
    for good in GOOD:
        good.with_suffix(".expected").write_text(text_of(parse_create(good.read_text())))
