"""Flink SQL in: which statements are ours, CREATE TABLE as a Table, where a query names tables; the session's sql().

Only create.py and what it imports know sqlglot; only session.py and what it imports know Spark.
"""
