"""Changelog formats: a payload is a change event, a row that was inserted, updated or deleted in a database.

decoder.py and encoder.py hold what all dialects share. json_dialects.py and debezium_avro.py describe the dialects,
whose change events are JSON (json_format.py) or Avro documents.
"""
