"""Flink's json format, decoded and encoded a whole buffer at a time."""

from kafka_sql.formats.format import Format, on_call
from kafka_sql.formats.json.options import JSON_OPTIONS

JSON = Format(
    "json",
    JSON_OPTIONS,
    on_call("json.decoder:JsonDecoder"),
    on_call("json.encoder:JsonEncoder"),
    infer_from_payloads=on_call("json.schema_inference:infer_from_payloads"),
)

__all__ = ["JSON"]
