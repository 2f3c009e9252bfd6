"""Define the canal-json format: change events that Canal writes for MySQL (flink-json, CanalJsonDecodingFormat)."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.formats.cdc.decoder import PayloadFilter
from kafka_sql.formats.cdc.dialect import MILLIS, Dialect, Metadata, from_millis
from kafka_sql.formats.cdc.json_format import dialect_format
from kafka_sql.formats.json.options import IGNORE_PARSE_ERRORS, JSON_OPTIONS
from kafka_sql.options import Option, Options
from kafka_sql.options.java_pattern import compile_java_pattern

DATABASE_INCLUDE: Final = Option(
    "canal-json.database.include",
    compile_java_pattern,
    "String",
    "Regular expression in Java's syntax. Only records whose full `database` matches are read.",
)
TABLE_INCLUDE: Final = Option(
    "canal-json.table.include",
    compile_java_pattern,
    "String",
    "Regular expression in Java's syntax. Only records whose full `table` matches are read.",
)

_IGNORE_ERRORS: Final = {IGNORE_PARSE_ERRORS.key: "true"}
_SQL_TYPES: Final = pa.map_(pa.string(), pa.int32())

CANAL: Final = Dialect(
    name="Canal",
    new_field="data",
    old_field="old",
    operation_field="type",
    inserts=("INSERT",),
    updates=("UPDATE",),
    deletes=("DELETE",),
    skipped=("CREATE",),
    old_is_partial=True,
    rows_in_arrays=True,
    metadata={
        "database": Metadata(pa.string(), "database", pa.string()),
        "table": Metadata(pa.string(), "table", pa.string()),
        "sql-type": Metadata(_SQL_TYPES, "sqlType", _SQL_TYPES),
        "pk-names": Metadata(pa.list_(pa.string()), "pkNames", pa.list_(pa.string())),
        "ingestion-timestamp": Metadata(MILLIS, "ts", pa.int64(), from_millis),
        "event-timestamp": Metadata(MILLIS, "es", pa.int64(), from_millis),
    },
)


def _payload_filter(options: Options) -> PayloadFilter | None:
    """Return a filter for the included databases and tables, which runs before the rows are decoded."""
    patterns = {"database": options.get(DATABASE_INCLUDE), "table": options.get(TABLE_INCLUDE)}
    included = {field: pattern for field, pattern in patterns.items() if pattern is not None}
    if not included:
        return None
    from kafka_sql.formats.json.decoder import JsonDecoder

    decoder = JsonDecoder(
        pa.schema([(field, pa.string()) for field in included]),
        Options(JSON_OPTIONS, _IGNORE_ERRORS),
        splits_arrays=False,
    )

    def payload_filter(payloads: pa.BinaryArray) -> pa.BooleanArray:
        decoded = decoder.decode(payloads)
        indices = decoded.payload_indices
        rows = np.arange(len(payloads)) if indices is None else np.asarray(indices)
        is_excluded = np.zeros(len(payloads), np.bool_)
        for pattern, column in zip(included.values(), decoded.columns, strict=True):
            values = column.dictionary_encode()  # there are few distinct names
            names = values.dictionary.to_pylist()
            name_matches = [name is not None and pattern.fullmatch(name) is not None for name in names]
            matches = pa.array(name_matches, pa.bool_()).take(values.indices).fill_null(False)
            is_excluded[rows[~np.asarray(matches)]] = True
        return pa.array(~is_excluded)  # includes payloads that are not JSON, so that their errors are reported

    return payload_filter


CANAL_JSON: Final = dialect_format(
    "canal-json", CANAL, (DATABASE_INCLUDE, TABLE_INCLUDE), payload_filter=_payload_filter
)
