"""Flink's csv format, decoded and encoded a whole buffer at a time."""

from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.formats.format import Format, on_call

CSV = Format(
    "csv",
    CSV_OPTIONS,
    on_call("csv.decoder:CsvDecoder"),
    on_call("csv.encoder:CsvEncoder"),
    infer_from_payloads=on_call("csv.schema_inference:infer_from_payloads"),
    has_field_names=False,
)

__all__ = ["CSV"]
