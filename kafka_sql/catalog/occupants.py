"""What stands under a name in Spark's catalog that this application does not know."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

from pyspark.sql import DataFrame

from kafka_sql.catalog.literals import quote, string

Name = tuple[str, str]

_PROVIDER = re.compile(r"^Provider: (.*)$", re.MULTILINE)
_TYPE = re.compile(r"^Type: (.*)$", re.MULTILINE)


class Occupant(enum.Enum):
    """Whose a name is."""

    SPARK = "a table or view of Spark's own"
    ORPHAN = "TABLE"  # a Kafka table of a session that is gone: its declaration was lost, its name stayed
    ORPHAN_VIEW = "VIEW"


def occupant(plain: Callable[[str], DataFrame], name: Name, hidden: str) -> Occupant:
    """Whose a name is that is taken, and by none of the application's tables.

    Spark lists a table without loading it, so that one without a provider can be told.

    Args:
        hidden: the name of the data source, where ``name`` were a view over it.
    """
    database, table = name
    found = {
        row.tableName.lower(): row.information
        for row in plain(f"SHOW TABLE EXTENDED IN {quote(database)} LIKE {string(_pattern(table))}").collect()
        if not row.isTemporary
    }
    if table not in found:  # a temporary view
        return Occupant.SPARK
    if _is_kafka(found[table]):
        return Occupant.ORPHAN
    kind = _TYPE.search(found[table])
    is_view = kind is not None and kind[1] == "VIEW"
    return Occupant.ORPHAN_VIEW if is_view and hidden in found and _is_kafka(found[hidden]) else Occupant.SPARK


def _is_kafka(information: str) -> bool:
    provider = _PROVIDER.search(information)
    return provider is not None and provider[1].startswith("kafka.")


def _pattern(table: str) -> str:
    """Spark's own pattern for the table and what stands behind it; odd characters match all."""
    return re.sub(r"\W", "*", table) + "*"
