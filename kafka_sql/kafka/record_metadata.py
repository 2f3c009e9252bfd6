"""A record's metadata as Flink's keys: types, and which of them may be written.

Keys and types: KafkaDynamicSource.ReadableMetadata and KafkaDynamicSink.WritableMetadata of Flink's connector. One more
says what kind of change a row is, which Flink's rows carry by themselves and Spark's do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from kafka_sql.table.row_kind import ROW_KIND

TIMESTAMP: Final = pa.timestamp("ms", "UTC")
HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
LIST: Final = pa.list_(pa.field("element", HEADER, nullable=False))
MAP: Final = pa.map_(pa.string(), pa.binary())


@dataclass(frozen=True)
class Metadata:
    """One key.

    Attributes:
        type: as it is read.
        declared: the same in Flink's words.
        writable: whether INSERT INTO may set it.
    """

    type: pa.DataType
    declared: str
    writable: bool = False


METADATA: Final[dict[str, Metadata]] = {
    "topic": Metadata(pa.string(), "STRING NOT NULL", writable=True),
    "partition": Metadata(pa.int32(), "INT NOT NULL"),
    "headers": Metadata(MAP, "MAP<STRING, BYTES> NOT NULL", writable=True),
    "header-list": Metadata(LIST, "ARRAY<ROW<`key` STRING NOT NULL, `value` BYTES> NOT NULL> NOT NULL", writable=True),
    "leader-epoch": Metadata(pa.int32(), "INT"),
    "offset": Metadata(pa.int64(), "BIGINT NOT NULL"),
    "timestamp": Metadata(TIMESTAMP, "TIMESTAMP_LTZ(3) NOT NULL", writable=True),
    "timestamp-type": Metadata(pa.string(), "STRING NOT NULL"),
}

# what is read of records whatever is in them; of one that cannot be read, 'error' says why
INLINE: Final[dict[str, Metadata]] = {
    "error": Metadata(pa.string(), "STRING"),
    "raw-key": Metadata(pa.binary(), "BYTES"),
    "raw-value": Metadata(pa.binary(), "BYTES"),
}
ERROR: Final = "error"
_WITH_KINDS: Final = {**METADATA, ROW_KIND: Metadata(pa.string(), "STRING NOT NULL", writable=True)}


def metadata_keys(kinds: bool) -> dict[str, Metadata]:
    """The keys that a table may declare.

    Args:
        kinds: whether its records are changes of rows.
    """
    return _WITH_KINDS if kinds else METADATA
