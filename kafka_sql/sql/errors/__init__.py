"""Errors that arrive from Spark: converted to those of this package, explained, and without secrets."""
