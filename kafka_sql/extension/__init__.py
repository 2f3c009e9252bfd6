"""Flink's statements in plain ``spark-sql`` and the Thrift server: a parser extension in Java hands each statement to
one Python process, which is attached to Spark's JVM and runs them as everywhere else.
"""
