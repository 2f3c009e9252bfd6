"""Name the tables that views with ``/*+ OPTIONS(...) */`` read.

Spark cannot store such a hint in a view. Instead, the view reads a hidden table with the options of the hint:
``orders__view_options_1`` for a hint on ``orders``. If ``orders`` is altered or dropped, so is this table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Mapping
from typing import Final

from kafka_sql.catalog.file_store import TableName
from kafka_sql.options import connector as opt
from kafka_sql.table.table import Table

_NAME: Final = re.compile(r"(.+)__view_options_\d+")


def base_of(name: TableName) -> TableName | None:
    """Return the name of the table that the hint of a view is on; None if the name is that of another table."""
    match = _NAME.fullmatch(name[1])
    return (name[0], match[1]) if match else None


def free_name(base: TableName, names: Container[TableName]) -> TableName:
    """Return a name that is not in use for a table with the options of a hint on ``base``."""
    candidates = ((base[0], f"{base[1]}__view_options_{number}") for number in itertools.count(1))
    return next(name for name in candidates if name not in names)


def merge_options(table: Table, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a table with those of a hint."""
    inherited = dict(table.options)
    if options.get(opt.ERROR_HANDLING.key, opt.LOG).lower() != opt.LOG:
        inherited.pop(opt.ERROR_TARGET.key, None)  # CREATE TABLE rejects it without the mode 'log'
    return {**inherited, **options}


def hint_of(base: Table, derived: Table) -> dict[str, str]:
    """Return the options in which a hidden table differs from its base: those of the hint."""
    return {key: value for key, value in derived.options.items() if base.options.get(key) != value}
