"""Translate Flink expressions into Spark SQL that returns Flink's values, for computed columns and watermarks.

Each translation carries its type, because Flink's result types differ from Spark's.
"""
