"""Stateful operators over streams of changes that Spark does not have.

These are Flink's ChangelogNormalize, GroupAggregate with retraction, WindowAggregate, the window function SESSION,
OverAggregate, TemporalSort, Rank, Deduplicate, SinkUpsertMaterializer and TemporalJoin. They are StatefulProcessors in
Java (``Dataset.transformWithState``), whose state is in Spark's RocksDB state store.
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
    session_windows,
)
from kafka_sql.state.over import (
    UNBOUNDED,
    OverCall,
    is_over_function,
    over,
    over_event_time,
    over_processing_time,
)
from kafka_sql.state.rank import RankOrder, keep_first, rank, rank_windows

__all__ = [
    "DEDUPLICATE",
    "UNBOUNDED",
    "AggregateCall",
    "OverCall",
    "RankOrder",
    "aggregate",
    "arrival_order",
    "configure",
    "is_over_function",
    "join",
    "join_versions",
    "keep_first",
    "materialize",
    "normalize",
    "over",
    "over_event_time",
    "over_processing_time",
    "rank",
    "rank_windows",
    "session_windows",
]
