"""Keep all rows of each key of a sink, so that it has one of them: Flink's SinkUpsertMaterializer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kafka_sql import state
from kafka_sql.spark.catalyst import Catalyst
from kafka_sql.sql.jobs.changelog.changelog_normalize import apply_operator
from kafka_sql.sql.jobs.changelog.relation import Mode, Relation


def materialize(
    catalyst: Catalyst, relation: Relation, key: Sequence[int], names: Sequence[str], conflict: str
) -> Relation:
    """Return one row of each key of a sink, as Flink's SinkUpsertMaterializer does.

    Args:
        names: the names of the key's columns in the sink.
        conflict: which row; see ``state.materialize``.
    """
    rows = apply_operator(catalyst, relation, partial(state.materialize, conflict=conflict, names=names), key)
    return replace(rows, mode=Mode.UPSERT, key=tuple(frozenset({id}) for id in key), fixed=frozenset(key))
