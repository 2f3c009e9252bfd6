"""Write and read columns without librdkafka, which allocates an object per record. Record batches are encoded and
decoded here, and exchanged over the connections of ``kafka_sql.kafka.protocol``.

librdkafka still handles everything that is not supported here: record headers, per-record timestamps, compression when
writing, followers in the same rack, and brokers that stay unreachable while reading.
"""
