"""Write exactly-once: tasks prepare Kafka transactions; the driver records its decision in Kafka and commits them.

See ``docs/exactly-once.md``. Modules: prepare (tasks), committer (driver), admin (manual recovery).
"""
