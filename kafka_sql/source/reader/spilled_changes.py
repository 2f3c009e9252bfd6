"""Keep changes in temporary files, divided into parts by the columns that identify a row."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.binary_columns import column_view
from kafka_sql.kafka.direct.writes.produce_kernels import partition_by_key
from kafka_sql.table.changelog import comparable_columns

_PARTS: Final = 64
_COMPRESSION: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class SpilledChanges:
    """Changes in temporary files, in Spark's local folder. All changes of a row are in one part, in order.

    Attributes:
        folder: the folder of the files.
    """

    def __init__(self, schema: pa.Schema, identity: Sequence[str]) -> None:
        """
        Args:
            schema: the schema of the changes.
            identity: the columns that identify a row.
        """
        self._schema, self._identity = schema, tuple(identity)
        self._files = ExitStack()
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []

    def __enter__(self) -> SpilledChanges:
        """Create the files."""
        local_folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None  # set by Spark for its workers
        self.folder = self._files.enter_context(tempfile.TemporaryDirectory(prefix="kafka_sql-", dir=local_folder))
        self._paths = [Path(self.folder, str(part)) for part in range(_PARTS)]
        for path in self._paths:
            writer = pa.ipc.new_stream(str(path), self._schema, options=_COMPRESSION)
            self._writers.append(self._files.enter_context(writer))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the files."""
        self._files.close()

    def append(self, changes: pa.Table) -> None:
        """Write changes to their parts."""
        parts = _part_of_each_row(comparable_columns(changes, self._identity))
        by_part = changes.take(pa.array(np.argsort(parts, kind="stable")))
        ends = np.cumsum(np.bincount(parts, minlength=_PARTS)).tolist()
        for writer, start, end in zip(self._writers, [0, *ends], ends, strict=False):
            if end > start:
                writer.write_table(by_part.slice(start, end - start))

    def parts(self) -> Iterator[pa.Table]:
        """Yield the changes of each part. No more changes can be appended."""
        for writer in self._writers:
            writer.close()
        for path in self._paths:
            with pa.ipc.open_stream(str(path)) as reader:
                yield reader.read_all()


def _part_of_each_row(columns: pa.Table) -> npt.NDArray[np.int32]:
    """Return the part of each row. Equal rows get the same part."""
    texts = [_as_bytes(column.combine_chunks()) for column in columns.columns]
    keys = pc.binary_join_element_wise(*texts, b"\0", null_handling="replace", null_replacement=b"\1")
    parts = np.full(len(columns), -1, np.int32)
    partition_by_key(parts, column_view(keys), np.full(len(columns), _PARTS, np.int32))
    return parts


def _as_bytes(column: pa.Array) -> pa.BinaryArray:
    if pa.types.is_duration(column.type):  # cannot be cast to a string
        column = column.cast(pa.int64())
    if not pa.types.is_binary(column.type):
        column = column.cast(pa.string()).cast(pa.binary())
    return column
