"""Show the names of users' tables in Spark's errors and plans instead of the names under which Spark stores them.

If a table is a view over a data source (``CatalogTable``), Spark's messages and plans name the data source:
``orders__kafka``.
"""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.catalog.file_store import TableName

# contained in all storage names: those of tables that are views, of temporary tables, and of tables with a hint
SUFFIX: Final = "__kafka"
# providers of the changes of a table end with it; no table has a name with a hyphen in Spark's catalog
CHANGES_SUFFIX: Final = "-changes"

_names: dict[TableName, TableName] = {}  # of all sessions of this process, by storage name
# as Spark writes it: spark_catalog.default.t__kafka, `default`.`t__kafka`, [spark_catalog, default, t__kafka]
_STORAGE_NAME: Final = re.compile(
    rf"(?:(?P<catalog>`?(?:spark_catalog|kafka_sql)`?)(?P<dot>\.|, ))?(?:`?(?P<database>\w+)`?(?P<dot2>\.|, ))?"
    rf"(?P<quote>`?)(?P<name>\w+?{SUFFIX}\w*)(?P=quote)",
    re.ASCII,
)
_CHANGES_PROVIDER: Final = re.compile(rf"\b(kafka\.[\w.]+){CHANGES_SUFFIX}\b")
# errors about columns name the provider, `kafka`.`orders`
_PROVIDER_IN_ERROR: Final = re.compile(r"(?<=Cannot write to )`kafka`\.(?=`)")


def add_storage_name(storage_name: TableName, name: TableName) -> None:
    """Record under which name Spark stores a table."""
    if storage_name != name:
        _names[storage_name] = name


def remove_storage_name(storage_name: TableName) -> None:
    _names.pop(storage_name, None)


def show_table_names(text: str) -> str:
    """Return a message or plan of Spark with the names of tables in place of storage names. Other names stay."""
    text = _CHANGES_PROVIDER.sub(r"\1", text) if CHANGES_SUFFIX in text else text
    return _STORAGE_NAME.sub(_table_name, text) if SUFFIX in text else text


def show_table_names_in_error(message: str) -> str:
    """Return the message of an error with the names of tables in place of storage names and providers."""
    return _PROVIDER_IN_ERROR.sub("", show_table_names(message))


def _table_name(match: re.Match[str]) -> str:
    quote, stored = match["quote"], match["name"]
    name = _names.get((match["database"] or "", stored))
    if name is None:  # without its database, as in the name of a provider
        names = {user_name[1] for (_, storage_name), user_name in list(_names.items()) if storage_name == stored}
        return match[0][: match.start("name") - match.start()] + names.pop() + quote if len(names) == 1 else match[0]
    database, table = name
    separator = match["dot2"]
    parts = [f"{quote}{part}{quote}" for part in (database, table) if part]
    if match["catalog"] and database:
        parts.insert(0, f"{quote}spark_catalog{quote}")
    return separator.join(parts)
