"""Define every error that kafka_sql raises, as one tree.

Each class is a named condition. The message says what is wrong, where, what was expected and what to do. The facts
that identify the location (option, table, topic, partition, offset, ...) are attributes, too, and arguments of the same
names: each class lists its own. An attribute is None if the message does not name that fact. Errors of Spark's tasks
and planners arrive as text, to which kafka_sql/runtime/error_trailer.py adds them. docs/api.md shows the tree.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, TypeVar

E = TypeVar("E", bound="KafkaSqlError")


class KafkaSqlError(Exception):
    """Base class of all errors of this package."""

    facts: ClassVar[dict[str, Any]] = {}  # the names of the attributes, with their defaults

    def __init_subclass__(cls) -> None:
        cls.facts = cls.facts | {name: vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)}

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message)
        unknown = facts.keys() - self.facts
        if unknown:
            raise TypeError(f"{type(self).__name__} has no attributes {sorted(unknown)}")
        vars(self).update(self.facts | facts)

    def __str__(self) -> str:
        return f"[{self.condition()}] {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        # does not call __init__, whose signature differs by class; keeps attributes and notes
        return _restore, (type(self), self.args, self.__dict__)

    @property
    def message(self) -> str:
        """The message without the condition."""
        return str(self.args[0]) if self.args else ""

    @classmethod
    def condition(cls) -> str:
        """Return the error's name as users search for it: ``TOPIC_NOT_FOUND`` for TopicNotFoundError."""
        stem = cls.__name__.removesuffix("Error")
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).upper()

    def with_message(self: E, message: str) -> E:
        """Return a copy with another message and the same attributes."""
        return _restore(type(self), (message,), self.__dict__)

    def with_prefix(self: E, prefix: str) -> E:
        """Return a copy with ``prefix`` before the message and the same attributes."""
        return self.with_message(prefix + self.message)


def _restore(cls: type[E], args: tuple[object, ...], attributes: dict[str, object]) -> E:
    error = cls.__new__(cls, *args)
    error.__dict__.update(attributes)
    return error


class StatementError(KafkaSqlError):
    """A statement cannot be parsed or executed."""

    table: str | None = None  # the table that the statement names


class SqlSyntaxError(StatementError):
    """The statement cannot be parsed; the message shows line, column and the marked text."""

    line: int = 1  # line of the statement's text, from 1
    column: int = 1  # character in that line, from 1
    marked: str = ""  # the source line with a mark below the error; values of options are masked


class UnsupportedSqlError(StatementError):
    """The statement is valid, but has no exact equivalent here."""


class TableExistsError(StatementError):
    """A statement creates a table whose name is in use."""


class TableNotFoundError(StatementError):
    """A statement names a table that does not exist."""


class SessionNotEnabledError(StatementError):
    """A session to which ``enable()`` was not applied uses a Kafka table or a Flink statement."""


class JobNotFoundError(StatementError):
    """STOP JOB names a job that is not running in this session."""

    job: str | None = None  # the job id of the statement


class OptionError(KafkaSqlError):
    """A WITH option or a SET key is wrong."""

    option: str | None = None  # the key, with its prefix
    table: str | None = None  # the table that is declared with it


class UnknownOptionError(OptionError):
    """Neither the connector nor its formats have the option."""


class MissingOptionError(OptionError):
    """A required option is missing."""


class InvalidOptionError(OptionError):
    """An option's value has the wrong type or is not allowed."""


class UnsupportedOptionError(OptionError):
    """Flink's connector has the option, but Spark (or this version of it) or the Kafka client cannot support it."""


class SecretReferenceError(OptionError):
    """A reference such as ``${env:NAME}`` in an option's value cannot be resolved."""


class KeyStoreError(OptionError):
    """A key store, a trust store or a PEM value of an option cannot be used."""


class ConflictingOptionsError(OptionError):
    """Two options exclude each other."""


class SchemaError(KafkaSqlError):
    """A column is declared wrongly, or the format or Spark does not support it."""

    column: str | None = None  # the column, or the path of a field in it
    table: str | None = None  # the table that declares it


class BrokerError(KafkaSqlError):
    """An operation on a Kafka cluster failed."""

    topic: str | None = None  # the topic
    partition: int | None = None  # the partition of the topic
    offset: int | None = None  # the offset in the partition
    servers: str | None = None  # the brokers, ``host:port,...``
    table: str | None = None  # the table that is read or written


class BrokerUnreachableError(BrokerError):
    """No broker responded in time."""


class AuthenticationError(BrokerError):
    """The broker rejected the client's credentials, or the client rejected the broker's certificate."""


class UnsupportedVersionError(BrokerError):
    """A broker does not support any version of a request that this package supports."""


class MetadataServiceError(BrokerError):
    """The metadata service of a 'dynamic-kafka' table failed, or returned an invalid result."""


class TopicNotFoundError(BrokerError):
    """The topic does not exist."""


class TopicMismatchError(BrokerError):
    """A topic does not match the table's declaration."""


class OffsetError(BrokerError):
    """A start or stop offset cannot be resolved."""


class DataLossError(BrokerError):
    """Records were deleted before they were read."""


class FetchError(BrokerError):
    """Reading a partition stopped before its end."""


class AuthorizationError(BrokerError):
    """The user lacks the permission for an operation."""


class DeliveryError(BrokerError):
    """Records were not acknowledged."""


class RecordTooLargeError(DeliveryError):
    """A record is larger than the producer or the topic allows."""


class RecordRejectedError(DeliveryError):
    """The broker rejected a record."""


class TransactionError(BrokerError):
    """A transaction of the exactly-once sink could not be started, decided or ended."""

    transactional_id: str | None = None  # the transactional id, or the prefix of several


class WriterFencedError(TransactionError):
    """Another query or statement writes with the same transactional id prefix."""


class PreparedTransactionLostError(TransactionError):
    """A task's transaction was aborted before the batch was decided. No row of the batch is visible."""


class DecidedTransactionLostError(TransactionError):
    """The brokers aborted a transaction after the decision to commit it. Its rows are missing."""


class TransactionInDoubtError(TransactionError):
    """It is unknown whether a transaction was committed or aborted."""


class SchemaRegistryError(KafkaSqlError):
    """A schema registry request failed."""

    url: str | None = None  # the registry
    subject: str | None = None  # the subject of the schema
    schema_id: int | None = None  # the id of the schema
    column: str | None = None  # the column, or the path of a field in it, that the schema does not fit


class SchemaNotFoundError(SchemaRegistryError):
    """The schema registry has no such schema, or one of another type."""


class IncompatibleSchemaError(SchemaRegistryError):
    """The schema is incompatible with other versions of its subject, or with the table's columns."""


class FormatError(KafkaSqlError):
    """A payload does not fit the format."""

    field: str | None = None  # path of the field in the table's columns, ``a.b[2]``; None for the whole payload


class DecodeError(FormatError):
    """A payload does not match the table's columns."""

    row: int = -1  # index of the payload in the decoded buffer, -1 if unknown
    reason: str = ""  # what was found and what was expected
    where: str | None = None  # ``topic[partition]@offset``, if known, which the reader gives instead of the row

    def __init__(self, row: int, field: str | None, reason: str, where: str | None = None) -> None:
        location = where or f"record {row} of the buffer"
        message = f"{location}, field '{field}': {reason}" if field else f"{location}: {reason}"
        super().__init__(message, field=field, row=row, reason=reason, where=where)

    def with_location(self, where: str) -> DecodeError:
        """Return the same error with its location in Kafka, ``topic[partition]@offset``."""
        return type(self)(self.row, self.field, self.reason, where)

    def with_advice(self, advice: str) -> DecodeError:
        """Return the same error with advice after the reason."""
        return self.with_message(f"{self.message} ({advice})")


class EncodeError(FormatError):
    """A row cannot be written in the format."""


class CheckpointError(KafkaSqlError):
    """A query cannot resume from its checkpoint."""

    table: str | None = None  # the table that the query reads or writes
    topic: str | None = None  # the topic whose offsets do not fit
    partition: int | None = None  # the partition of the topic


class PartitionerError(KafkaSqlError):
    """The class of 'sink.partitioner' failed, or returned a partition that the topic does not have."""

    partitioner: str | None = None  # the class, ``module.Class``
    topic: str | None = None  # the topic of the record
    partition: object = None  # the partition that it returned


class CatalogFolderError(KafkaSqlError):
    """The catalog folder cannot be used."""

    folder: str | None = None  # its path
    table: str | None = None  # the table whose file cannot be written


class WorkerPythonError(KafkaSqlError):
    """Spark's workers run a Python that lacks this package."""

    module: str | None = None  # the module that it lacks


class EmbeddedKafkaError(KafkaSqlError):
    """A broker or a schema registry on this machine could not be set up."""

    path: str | None = None  # the file or folder that cannot be used
