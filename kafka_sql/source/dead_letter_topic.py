"""Decide which reads write dead letters.

A streaming query writes them. A batch read skips undecodable records, because a repeated query would write
the same dead letters again; it writes them only if its statement sets the topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt


@dataclass(frozen=True)
class DeadLetterTopic:
    """The topic to which a task writes the undecodable records that it reads.

    Attributes:
        name: the topic.
        query: id of the streaming query; None for a batch read.
        is_repeat: whether the query may have read the same records before, so that the topic may have their dead
            letters.
    """

    name: str
    query: str | None = None
    is_repeat: bool = False


def batch_dead_letter_topic(definition: Definition) -> DeadLetterTopic | None:
    """Return where a batch read writes dead letters: nowhere, unless its statement sets the topic."""
    name = definition.options.get(opt.ERROR_TARGET)
    is_set_by_statement = opt.ERROR_TARGET.key in definition.statement_options
    return DeadLetterTopic(name) if name is not None and is_set_by_statement else None


def stream_dead_letter_topic(definition: Definition, is_first_batch: bool) -> DeadLetterTopic | None:
    """Return where this task of a streaming query writes dead letters; None if the table has no dead letter topic.

    Args:
        is_first_batch: whether this is the first micro-batch since the query started. The query may have read it
            before it was restarted.
    """
    name = definition.options.get(opt.ERROR_TARGET)
    if name is None:
        return None
    context = TaskContext.get()
    query = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
    is_retry = context is not None and context.attemptNumber() > 0
    return DeadLetterTopic(name, query or None, is_repeat=bool(query) and (is_first_batch or is_retry))
