"""Flink's DDL on sqlglot's tokens: types, expressions, CREATE and ALTER TABLE, as they were typed.

Whether a declaration makes sense is not asked here.
"""
