"""Run continuous queries in Spark's real-time mode, over Spark's own Kafka source and sink.

Python data sources cannot run in that mode. A table's options are translated to those of Spark's connector, and its
format is decoded and encoded by Java classes of this package.
"""
