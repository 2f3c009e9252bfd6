"""Formats of changes: a payload is a row that was inserted, updated or deleted in a database.

One dialect a file over one base: reading is decoder.py, writing encoder.py; the rows themselves are JSON or Avro.
"""

from kafka_sql.formats.cdc.canal import CANAL_JSON
from kafka_sql.formats.cdc.debezium import DEBEZIUM_JSON
from kafka_sql.formats.cdc.debezium_avro import DEBEZIUM_AVRO_CONFLUENT
from kafka_sql.formats.cdc.maxwell import MAXWELL_JSON
from kafka_sql.formats.cdc.ogg import OGG_JSON

__all__ = ["CANAL_JSON", "DEBEZIUM_AVRO_CONFLUENT", "DEBEZIUM_JSON", "MAXWELL_JSON", "OGG_JSON"]
