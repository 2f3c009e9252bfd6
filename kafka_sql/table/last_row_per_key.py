"""Of several rows of one key the last: what a table of changes leaves, and what a flush of an upsert table sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

PLACE: Final = "\0place"  # a row's place in the order of the rows; no column has this name


def last_places(rows: pa.Table, key: Sequence[str]) -> pa.ChunkedArray:
    """The place of each key's last row.

    Args:
        rows: with the key's columns and their places (``PLACE``), in any order.
    """
    places = rows.select([*key, PLACE])
    return places.group_by(list(key), use_threads=False).aggregate([(PLACE, "max")])[f"{PLACE}_max"]
