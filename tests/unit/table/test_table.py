"""Kinds of columns, and what the representation of a table shows."""

from __future__ import annotations

from kafka_sql.table.table import Column, Table

PHYSICAL = Column("a", "BIGINT", "BIGINT")
METADATA = Column("b", "BIGINT", "BIGINT", metadata="offset", virtual=True)
WRITABLE = Column("c", "STRING", "STRING", metadata="topic")
COMPUTED = Column("d", None, "a + 1", expression="a + 1")
TABLE = Table(("t",), (PHYSICAL, METADATA, WRITABLE, COMPUTED), {"properties.sasl.password": "planted"})


def test_kinds_of_columns() -> None:
    assert TABLE.physical_columns == (PHYSICAL,)
    assert TABLE.source_columns == (PHYSICAL, METADATA, WRITABLE)
    assert TABLE.computed_columns == (COMPUTED,)
    assert TABLE.persisted_columns == (PHYSICAL, WRITABLE)


def test_columns_are_nullable_by_default() -> None:
    assert PHYSICAL.nullable
    assert (TABLE.temporary, TABLE.if_not_exists, PHYSICAL.virtual) == (False, False, False)


def test_the_representation_does_not_show_options() -> None:
    assert "planted" not in repr(TABLE)
    assert "'a'" in repr(TABLE)
