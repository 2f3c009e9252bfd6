"""A task's side: rows into a transaction that stays open."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.errors import TransactionError
from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.direct.producer import DirectProducer
from kafka_sql.kafka.protocol.transaction_admin import Hint
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.digest import digest
from kafka_sql.sink.exactly_once.records import Prepared
from kafka_sql.sink.producer_choice import direct, table_transaction
from kafka_sql.sink.row_writer import write_with


@dataclass(frozen=True)
class Task:
    """Which task of which write this is.

    Attributes:
        attempt: unique among all attempts of an application.
        run, query, batch: as in ``Prepared``.
    """

    partition: int
    attempt: int
    run: str
    query: str | None
    batch: int | None


def current_task(statement: str | None) -> Task:
    """The task that this process works at.

    Args:
        statement: a name of the statement's own; None for a continuous query. A statement inside of ``foreachBatch``
            belongs to the query's batch.

    Raises:
        TransactionError: Spark does not tell the query and its batch.
    """
    context = TaskContext.get()
    if context is None:
        raise TransactionError("Exactly-once is written by Spark's tasks only.")
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    run = context.getLocalProperty("spark.jobGroup.id") if query else statement
    if run is None or (query and batch is None):
        raise TransactionError("Spark does not tell a task which query and batch it works for (its local properties).")
    return Task(
        context.partitionId(),
        context.taskAttemptId(),
        transactional_ids.short(run),
        query or None,
        int(batch) if query and batch is not None else None,
    )


def prepare(definition: Definition, task: Task, batches: Iterator[pa.RecordBatch], timeout: int) -> Prepared:
    """Write rows into a transaction of their own, wait for all acknowledgements, and let go of it.

    Args:
        timeout: milliseconds after which the brokers abort it.

    Raises:
        EncodeError: a value has no form in the table's format; the transaction is aborted.
        DeliveryError: a record was not acknowledged; the transaction is aborted.
        TransactionError: the brokers refuse the transaction.
    """
    seen = _Digest()
    rows = seen.through(batch for batch in batches if batch.num_rows)
    nothing = Prepared(task.partition, 0, None, 0, task.run, task.query, task.batch)
    if not direct(definition):
        first = next(rows, None)
        if first is None:
            return nothing
        rows = itertools.chain([first], rows)
    transaction = _name(definition, task)
    silence = min(int(definition.client[SOCKET_TIMEOUT]), timeout)  # librdkafka takes no longer one
    config = {**definition.client, TRANSACTION_TIMEOUT: str(timeout), SOCKET_TIMEOUT: str(silence)}
    with table_transaction(definition, config, transaction) as producer:
        figures = write_with(producer, definition, rows)
        hint = producer.hint if isinstance(producer, DirectProducer) else Hint()
    if not figures.rows:
        return nothing
    place = task.run, task.query, task.batch
    return Prepared(task.partition, figures.rows, transaction, seen.value, *place, figures, hint)


def _name(definition: Definition, task: Task) -> str:
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    if definition.options[opt.TRANSACTION_NAMING] == opt.POOLING:
        return transactional_ids.pooling(prefix, task.run, task.batch)
    return transactional_ids.incrementing(prefix, task.run, task.batch, task.partition, task.attempt)


class _Digest:
    value = 0

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.value = digest(batch, self.value)
            yield batch
