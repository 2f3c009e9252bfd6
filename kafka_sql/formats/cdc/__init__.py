"""Changelog formats: a payload is a change event, a row that was inserted, updated or deleted in a database.

decoder.py and encoder.py hold what all dialects share. A module per dialect describes its change events, which are JSON
(json_format.py) or Avro documents.
"""
