"""Flink's statements in ``spark-sql`` and the Thrift server.

A parser extension in Java passes each statement to a Python process, which attaches to Spark's JVM and executes it.
"""
