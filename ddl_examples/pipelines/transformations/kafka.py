"""Enable the Kafka tables in the folder ``tables`` for the pipeline, and define a flow that writes to a topic."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import kafka_sql

spark: SparkSession = kafka_sql.enable(SparkSession.active())

dp.create_sink("large_orders_topic", format="kafka.large_orders")


@dp.append_flow(target="large_orders_topic")
def large_orders() -> DataFrame:
    """Write orders of 100 and more to the topic, at least once: a failed run may repeat its last records."""
    return spark.readStream.table("order_log").select("order_id", "total").where("total >= 100")
