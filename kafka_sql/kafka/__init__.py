"""The Kafka client. The only package that uses librdkafka; it does not depend on Spark.

- ``config``: Java's client properties, converted to librdkafka's configuration.
- ``direct``, on ``protocol``: a columnar client of its own, used wherever it supports a table's settings.
- ``librdkafka``: the client for everything else.
- ``admin``: topics, offsets, consumer groups and permissions.

A ``config`` is librdkafka's configuration of a table, with references to secrets. ``settings`` have them resolved, when
a client is created; so have all of ``protocol`` below its connection pool.
"""
