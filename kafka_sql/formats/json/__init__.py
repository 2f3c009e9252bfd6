"""The json format: Flink's, a whole buffer at a time.

Reading is decoder.py (the fast way in columns.py behind guard.py, the exact way in record.py); writing is encoder.py.
"""

from kafka_sql.formats.format import Format
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.json.options import JSON_OPTIONS

JSON = Format("json", JSON_OPTIONS, JsonDecoder, JsonEncoder)

__all__ = ["JSON"]
