"""Flink's expressions as Spark SQL with Flink's values: what computed columns and watermarks are made of.

Each translation knows its type, since Flink's result types are not Spark's.
"""
