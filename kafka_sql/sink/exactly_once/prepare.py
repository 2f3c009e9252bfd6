"""Write the rows of a task into a transaction and leave it open."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.errors import TransactionError
from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.protocol.transaction_admin import TransactionHint
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.records import PreparedTransaction
from kafka_sql.sink.row_writer import can_use_direct, table_transaction, write_with_producer

_PARTS: Final = 64


@dataclass(frozen=True)
class Task:
    """Identifies a task attempt and the write that it belongs to."""

    partition: int  # index of the Spark partition
    attempt: int  # Spark's task attempt id, unique within an application
    run: str
    query: str | None
    batch: int | None


def current_task(statement_id: str | None) -> Task:
    """Return the task that this process runs.

    Args:
        statement_id: unique id of the statement; None for a streaming query. A statement inside ``foreachBatch``
            belongs to the query's batch.

    Raises:
        TransactionError: not called in a Spark task, or Spark has not set the local properties of the query.
    """
    context = TaskContext.get()
    if context is None:
        raise TransactionError("Exactly-once writes are only supported inside Spark tasks.")
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    run = context.getLocalProperty("spark.jobGroup.id") if query else statement_id
    if run is None or (query and batch is None):
        raise TransactionError(
            "The query id or batch id is missing from the task's local properties, which Spark sets."
        )
    return Task(
        context.partitionId(),
        context.taskAttemptId(),
        transactional_ids.run_id(run),
        query or None,
        int(batch) if query and batch is not None else None,
    )


def prepare(definition: Definition, task: Task, batches: Iterator[pa.RecordBatch], timeout: int) -> PreparedTransaction:
    """Write rows in a new transaction, wait for all acknowledgements and leave the transaction open.

    Args:
        timeout: milliseconds after which the brokers abort the transaction.

    Raises:
        EncodeError: a value cannot be represented in the table's format; the transaction is aborted.
        DeliveryError: a record was not acknowledged; the transaction is aborted.
        TransactionError: the brokers rejected the transaction.
    """
    rows_digest = 0

    def digested() -> Iterator[pa.RecordBatch]:
        nonlocal rows_digest
        for batch in batches:
            if batch.num_rows:
                rows_digest = digest(batch, rows_digest)
                yield batch

    rows = digested()
    empty = PreparedTransaction(task.partition, 0, None, 0, task.run, task.query, task.batch)
    if not can_use_direct(definition):  # librdkafka's producer may only be opened if there are rows
        first_batch = next(rows, None)
        if first_batch is None:
            return empty
        rows = itertools.chain([first_batch], rows)
    transaction = _transactional_id(definition, task)
    # librdkafka rejects a socket timeout above the transaction timeout
    socket_timeout = min(int(definition.client_config[SOCKET_TIMEOUT]), timeout)
    config = {**definition.client_config, TRANSACTION_TIMEOUT: str(timeout), SOCKET_TIMEOUT: str(socket_timeout)}
    with table_transaction(definition, config, transaction) as producer:
        stats = write_with_producer(producer, definition, rows)
        hint = producer.hint if isinstance(producer, DirectProducer) else TransactionHint()
    if not stats.rows:
        return empty
    return PreparedTransaction(
        task.partition, stats.rows, transaction, rows_digest, task.run, task.query, task.batch, stats, hint
    )


def _transactional_id(definition: Definition, task: Task) -> str:
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    if definition.options[opt.TRANSACTION_NAMING] == opt.POOLING:
        return transactional_ids.pooling_id(prefix, task.run, task.batch)
    return transactional_ids.incrementing_id(prefix, task.run, task.batch, task.partition, task.attempt)


def digest(batch: pa.RecordBatch, previous: int = 0) -> int:
    """Return a 32-bit checksum of a batch's columns.

    The sums of 64 parts of each buffer are hashed, at 15 GB per second. This detects accidental differences between
    replays; it is not meant to resist forgery.

    Args:
        previous: the digest of the preceding batches.
    """
    value = zlib.crc32(struct.pack(">Iq", previous, batch.num_rows))
    for column in batch.columns:
        for buffer in column.buffers():
            if buffer is not None:
                value = zlib.crc32(_sums(buffer), value)
    return value


def _sums(buffer: pa.Buffer) -> bytes:
    """Return the sums of a buffer's 64 parts, and the bytes at its end that do not fill a word of each part."""
    size = buffer.size - buffer.size % (8 * _PARTS)
    words = np.frombuffer(buffer, np.uint64, count=size // 8).reshape(_PARTS, -1)
    remainder = np.frombuffer(buffer, np.uint8, offset=size, count=buffer.size - size)
    sums: bytes = words.sum(axis=1, dtype=np.uint64).tobytes()
    return sums + remainder.tobytes()
