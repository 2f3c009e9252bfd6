"""Stateful operators over streams of changes that Spark does not have.

These are Flink's ChangelogNormalize, GroupAggregate with retraction, SinkUpsertMaterializer and TemporalJoin. They are
StatefulProcessors in Java (``Dataset.transformWithState``), whose state is in Spark's RocksDB state store.
"""

from kafka_sql.state.operators import (
    DEDUPLICATE,
    AggregateCall,
    aggregate,
    arrival_order,
    configure,
    join,
    join_versions,
    materialize,
    normalize,
)

__all__ = [
    "DEDUPLICATE",
    "AggregateCall",
    "aggregate",
    "arrival_order",
    "configure",
    "join",
    "join_versions",
    "materialize",
    "normalize",
]
