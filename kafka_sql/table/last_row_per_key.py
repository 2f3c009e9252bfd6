"""Of several rows of one key the last: what a table of changes leaves, and what a flush of an upsert table sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

ROW_INDEX: Final = "\0place"  # a row's place in the order of the rows; no column has this name


def last_row_per_key(rows: pa.Table, key: Sequence[str]) -> pa.ChunkedArray:
    """The place of each key's last row.

    Args:
        rows: with the key's columns and their places (``PLACE``), in any order.
    """
    places = rows.select([*key, ROW_INDEX])
    return places.group_by(list(key), use_threads=False).aggregate([(ROW_INDEX, "max")])[f"{ROW_INDEX}_max"]
