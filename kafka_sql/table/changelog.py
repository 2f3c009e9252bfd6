"""Interpret changelog rows: row kinds (Flink's RowKind), the columns that identify a row, and the last row of a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import EncodeError
from kafka_sql.runtime import arrow_compute as pc

ROW_KIND: Final = "row-kind"  # the metadata key: a column `METADATA FROM 'row-kind'`
KINDS: Final = ("+I", "-U", "+U", "-D")
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)  # indices into KINDS

# columns that a table has while a continuous query reads or writes its changes, after the declared ones
ROW_KIND_NAME: Final = "__row_kind"
ROW_ORDER_NAME: Final = "__row_order"  # increases in reading order

# columns of changes; no user column can have these names
ROW_INDEX: Final = "\0index"  # a row's index in reading order
IS_DELETED: Final = "\0deleted"  # whether the change deletes a row


def is_retraction(kinds: pa.StringArray) -> pa.BooleanArray:
    """Return which rows retract an earlier row (``-U``, ``-D``). A null kind means ``+I``.

    Raises:
        EncodeError: an unknown row kind.
    """
    kinds = kinds.fill_null(KINDS[INSERT])
    invalid = kinds.filter(pc.invert(pc.is_in(kinds, value_set=pa.array(KINDS))))
    if len(invalid):
        raise EncodeError(
            f"Invalid row kind '{invalid[0].as_py()}' (METADATA FROM 'row-kind'). Use '+I' or '+U' (or NULL) to insert "
            "or update the row, '-D' or '-U' to delete it."
        )
    return pc.is_in(kinds, value_set=pa.array([KINDS[UPDATE_BEFORE], KINDS[DELETE]]))


def last_row_per_key(rows: pa.Table, key: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the index of each key's last row, in ascending order."""
    indexed = rows.select(list(key)).append_column(ROW_INDEX, pa.array(np.arange(len(rows))))
    last = indexed.group_by(list(key), use_threads=False).aggregate([(ROW_INDEX, "max")])[f"{ROW_INDEX}_max"]
    return np.sort(np.asarray(last))


def comparable_columns(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns in types that Arrow can compare: nested values as text, which takes a Python object per value."""
    selected = rows.select(list(columns))
    for i, field in enumerate(selected.schema):
        if pa.types.is_nested(field.type):
            texts = pa.array([None if value is None else repr(value) for value in selected[i].to_pylist()], pa.string())
            selected = selected.set_column(i, field.name, texts)
    return selected
