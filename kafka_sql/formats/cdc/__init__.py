"""Formats of changes: a payload is a row that was inserted, updated or deleted in a database.

One dialect a file over one base: reading is decoder.py, writing encoder.py; the rows themselves are JSON or Avro.
"""
