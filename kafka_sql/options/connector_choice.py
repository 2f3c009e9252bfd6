"""Find the connector of a table, and name what to write in Spark instead of tables of Flink's other connectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_sql.errors import InvalidOptionError, MissingOptionError
from kafka_sql.options import builtin_connectors
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean

_LEGACY_CONNECTOR: Final = "connector.type"
CONNECTOR_OPTIONS: Final[Mapping[str, tuple[Option[Any], ...]]] = {
    opt.KAFKA: opt.KAFKA_OPTIONS,
    opt.UPSERT_KAFKA: opt.UPSERT_OPTIONS,
    opt.DYNAMIC_KAFKA: opt.DYNAMIC_OPTIONS,
}
_CDC: Final = (
    "send the changes to a topic with Debezium, and read it with 'connector' = 'kafka', 'format' = 'debezium-json'"
)
_JDBC: Final = (
    "CREATE TABLE t USING jdbc OPTIONS (url '...', dbtable '...'), with the database's driver on the classpath"
)

_SPARK_ALTERNATIVES: Final[dict[str, str]] = {
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


def reject_other_connector(raw_options: Mapping[str, str]) -> None:
    """Raise if a table has a connector that is not one of this package.

    Raises:
        InvalidOptionError: names what to write in Spark.
    """
    if raw_options.get(opt.CONNECTOR.key) not in (None, *builtin_connectors.CONNECTORS):
        find_connector(raw_options)


def find_connector(raw_options: Mapping[str, str]) -> str:
    """Return the connector of a table of Kafka.

    Raises:
        MissingOptionError, InvalidOptionError: there is none, or another one.
    """
    name = raw_options.get(opt.CONNECTOR.key)
    if name is None:
        hint = did_you_mean(opt.CONNECTOR.key, raw_options)
        if _LEGACY_CONNECTOR in raw_options:  # of Flink before 1.11
            hint = (
                f" '{_LEGACY_CONNECTOR}' is of an old version of Flink. Write 'connector' = "
                f"'{mask_user_info(raw_options[_LEGACY_CONNECTOR])}', and 'topic', 'properties.bootstrap.servers' and "
                "'format' without a prefix."
            )
        raise MissingOptionError(
            f"Table options do not contain an option key 'connector'.{hint}", option=opt.CONNECTOR.key
        )
    if name not in CONNECTOR_OPTIONS:
        available = (*CONNECTOR_OPTIONS, *builtin_connectors.CONNECTORS)
        alternative = _SPARK_ALTERNATIVES.get(name)
        raise InvalidOptionError(
            f"Could not find any connector for identifier '{mask_user_info(name)}' (option 'connector'). Available: "
            + ", ".join(f"'{connector}'" for connector in available)
            + "."
            + (f" In Spark: {alternative}." if alternative else did_you_mean(name, available)),
            option="connector",
        )
    return name
