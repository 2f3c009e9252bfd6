"""The sink: Spark's columns into payloads (encode), and payloads into a topic with a delivery guarantee (writers)."""
