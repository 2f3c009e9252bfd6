"""Write and read columns without librdkafka, which allocates an object per record. Record batches are encoded and
decoded here, and exchanged over the connections of ``kafka_sql.kafka.protocol``.

librdkafka handles the settings that are not supported here; see ``eligibility``.
"""
