"""List what to write in Spark instead of tables of Flink's other connectors, by the connector's identifier."""

from __future__ import annotations

from typing import Final

_CDC: Final = (
    "send the changes to a topic with Debezium, and read it with 'connector' = 'kafka', 'format' = 'debezium-json'"
)
_JDBC: Final = (
    "CREATE TABLE t USING jdbc OPTIONS (url '...', dbtable '...'), with the database's driver on the classpath"
)

SPARK_ALTERNATIVES: Final[dict[str, str]] = {
    "filesystem": "CREATE TABLE t (...) USING parquet LOCATION '...', or another format such as csv, json or orc",
    "hive": "CREATE TABLE t (...) STORED AS PARQUET, in a session with Hive support",
    "jdbc": _JDBC,
    "elasticsearch-7": "CREATE TABLE t USING org.elasticsearch.spark.sql, with Elasticsearch's connector for Spark",
    "elasticsearch-8": "CREATE TABLE t USING org.elasticsearch.spark.sql, with Elasticsearch's connector for Spark",
    "mongodb": "CREATE TABLE t USING mongodb, with MongoDB's connector for Spark",
    "iceberg": "CREATE TABLE t (...) USING iceberg, in a session with Iceberg's catalog",
    "delta": "CREATE TABLE t (...) USING delta, in a session with Delta Lake's extension",
    "paimon": "CREATE TABLE t (...) USING paimon, in a session with Paimon's catalog",
    "hudi": "CREATE TABLE t (...) USING hudi, in a session with Hudi's extension",
    **dict.fromkeys(
        ("mysql-cdc", "postgres-cdc", "mongodb-cdc", "oracle-cdc", "sqlserver-cdc", "db2-cdc", "tidb-cdc"), _CDC
    ),
}
