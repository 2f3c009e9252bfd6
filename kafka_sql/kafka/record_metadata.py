"""Define the metadata columns of records by Flink's keys: their types, and which are writable.

Keys and types: KafkaDynamicSource.ReadableMetadata and KafkaDynamicSink.WritableMetadata of Flink's connector. One more
column has the row kind of a change, which Flink's rows carry implicitly and Spark's do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from kafka_sql.table.changelog import ROW_KIND

TIMESTAMP_LTZ: Final = pa.timestamp("ms", "UTC")
HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
HEADER_LIST: Final = pa.list_(pa.field("element", HEADER, nullable=False))
HEADER_MAP: Final = pa.map_(pa.string(), pa.binary())


@dataclass(frozen=True)
class MetadataColumn:
    """A metadata column."""

    type: pa.DataType  # the type that is read
    flink_type: str  # the same type in Flink SQL
    writable: bool = False  # whether INSERT INTO may set it


METADATA: Final[dict[str, MetadataColumn]] = {
    "topic": MetadataColumn(pa.string(), "STRING NOT NULL", writable=True),
    "partition": MetadataColumn(pa.int32(), "INT NOT NULL"),
    "headers": MetadataColumn(HEADER_MAP, "MAP<STRING, BYTES> NOT NULL", writable=True),
    "header-list": MetadataColumn(
        HEADER_LIST, "ARRAY<ROW<`key` STRING NOT NULL, `value` BYTES> NOT NULL> NOT NULL", writable=True
    ),
    "leader-epoch": MetadataColumn(pa.int32(), "INT"),
    "offset": MetadataColumn(pa.int64(), "BIGINT NOT NULL"),
    "timestamp": MetadataColumn(TIMESTAMP_LTZ, "TIMESTAMP_LTZ(3) NOT NULL", writable=True),
    "timestamp-type": MetadataColumn(pa.string(), "STRING NOT NULL"),
}

# always readable; 'error' has the reason if a record could not be decoded, else NULL
ERROR_COLUMNS: Final[dict[str, MetadataColumn]] = {
    "error": MetadataColumn(pa.string(), "STRING"),
    "raw-key": MetadataColumn(pa.binary(), "BYTES"),
    "raw-value": MetadataColumn(pa.binary(), "BYTES"),
}
ERROR: Final = "error"
KAFKA_CLUSTER: Final = "kafka_cluster"  # of DynamicKafkaTableSource: the cluster's id in the metadata service
_WITH_ROW_KIND: Final = {**METADATA, ROW_KIND: MetadataColumn(pa.string(), "STRING NOT NULL", writable=True)}


def metadata_keys(is_changelog: bool, is_dynamic: bool = False) -> dict[str, MetadataColumn]:
    """Return the metadata columns that a table may declare.

    Args:
        is_changelog: whether its records are changes of rows, so that the row kind is available.
        is_dynamic: whether it reads several clusters.
    """
    keys = _WITH_ROW_KIND if is_changelog else METADATA
    return {KAFKA_CLUSTER: MetadataColumn(pa.string(), "STRING NOT NULL"), **keys} if is_dynamic else keys
