"""Translate Flink's functions; each module has a table from function names to translations."""
