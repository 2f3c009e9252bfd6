"""What a row of a changelog says happened, in Flink's short strings (RowKind): a column `METADATA FROM 'row-kind'`."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import EncodeError

ROW_KIND: Final = "row-kind"  # the metadata key
KINDS: Final = ("+I", "-U", "+U", "-D")
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)  # their places in KINDS


def is_retraction(kinds: pa.StringArray) -> pa.BooleanArray:
    """Which rows say that they are no longer; a row without a kind is an insert.

    Raises:
        EncodeError: a kind that does not exist.
    """
    kinds = kinds.fill_null(KINDS[INSERT])
    wrong = kinds.filter(pc.invert(pc.is_in(kinds, value_set=pa.array(KINDS))))
    if len(wrong):
        raise EncodeError(
            f"'{wrong[0].as_py()}' is no row kind (METADATA FROM 'row-kind'). Write '+I' or '+U' (or NULL) to insert "
            "or update the row, '-D' or '-U' to delete it."
        )
    return pc.is_in(kinds, value_set=pa.array([KINDS[UPDATE_BEFORE], KINDS[DELETE]]))
