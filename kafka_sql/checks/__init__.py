"""Check whether a table can be read and written, without reading or writing records."""
