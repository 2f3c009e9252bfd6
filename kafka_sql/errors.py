"""Every error that kafka_sql raises, as one tree.

A class is a named condition. Its message says what happened and where, what was expected and what to do; the
same facts are attributes of the same names.

    KafkaSqlError
    ├── StatementError           a statement that cannot be understood or carried out
    │   ├── SqlSyntaxError         line, column and the marked text
    │   ├── UnsupportedSqlError    understood, but has no exact meaning here
    │   ├── TableExistsError
    │   ├── TableNotFoundError
    │   └── JobNotFoundError
    ├── OptionError              a WITH option or a SET key
    │   ├── UnknownOptionError
    │   ├── MissingOptionError
    │   ├── InvalidOptionError     ill-typed, or not one of the allowed values
    │   ├── UnsupportedOptionError known, and Spark or Kafka's client cannot carry it
    │   ├── SecretReferenceError   ${provider:path:key} in a value names nothing
    │   ├── KeyStoreError          a key or trust store, or a PEM text, cannot be used
    │   └── ConflictingOptionsError
    ├── SchemaError              a column declared wrongly, or one that the format or Spark cannot carry
    ├── BrokerError              the cluster
    │   ├── BrokerUnreachableError
    │   ├── AuthenticationError    one of the two does not believe who the other is: password, token, certificate
    │   ├── TopicNotFoundError
    │   ├── TopicMismatchError     the topic is otherwise than the table says
    │   ├── OffsetError            a start or end position that cannot be had
    │   ├── DataLossError          records were removed before they were read
    │   ├── FetchError             reading stopped at topic[partition]@offset
    │   ├── AuthorizationError     the user may not do that
    │   ├── DeliveryError          records were not acknowledged
    │   │   ├── RecordTooLargeError
    │   │   └── RecordRejectedError    the broker takes no such record
    │   └── TransactionError       a transaction of the exactly-once sink
    │       ├── WriterFencedError      another query or statement writes with the same prefix
    │       ├── PreparedTransactionLostError  aborted before it was decided: nothing of it is to be seen
    │       ├── DecidedTransactionLostError   decided, and aborted by the brokers: a part is missing
    │       └── TransactionInDoubtError       cannot be told
    ├── SchemaRegistryError      the schema registry did not do what was asked of it
    │   ├── SchemaNotFoundError      it has no such schema, or one that is not Avro's
    │   └── IncompatibleSchemaError  it refuses a schema beside the subject's others
    ├── FormatError              a payload and a format
    │   ├── DecodeError            the payload is not what the table declares
    │   └── EncodeError            the row has no form in this format
    ├── CheckpointError          a query cannot go on from what its checkpoint holds
    ├── PartitionerError        the class of 'sink.partitioner' chose no partition
    ├── CatalogFolderError      the folder that keeps the tables cannot be used
    ├── WorkerPythonError       Spark's workers run a Python without this package
    ├── EmbeddedKafkaError       a broker on this machine could not be set up
    └── ExtensionError           the jar for Spark's shells could not be built
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class KafkaSqlError(Exception):
    """Base of all errors of this package."""

    def __str__(self) -> str:
        return f"[{self.condition()}] {super().__str__()}"

    @classmethod
    def condition(cls) -> str:
        """The error's name as users search for it: ``TOPIC_NOT_FOUND`` for TopicNotFoundError."""
        stem = cls.__name__.removesuffix("Error")
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).upper()


class StatementError(KafkaSqlError):
    """A statement that cannot be understood or carried out."""


class SqlSyntaxError(StatementError):
    """The statement does not parse; the message shows line, column and the marked text.

    Attributes:
        line: of the statement's text, from 1.
        column: character of that line, from 1.
        marked: the source line with the place marked below it; values of options are masked.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, marked: str = "") -> None:
        super().__init__(message)
        self.line, self.column, self.marked = line, column, marked


class UnsupportedSqlError(StatementError):
    """The statement is understood, but has no exact meaning here."""


class TableExistsError(StatementError):
    """CREATE TABLE of a name that is taken."""


class TableNotFoundError(StatementError):
    """A statement names a table that was not declared."""


class JobNotFoundError(StatementError):
    """STOP JOB of a job that is not running in this session."""


class OptionError(KafkaSqlError):
    """A WITH option or a SET key."""


class UnknownOptionError(OptionError):
    """An option that the connector and its formats do not have."""


class MissingOptionError(OptionError):
    """A required option is absent."""


class InvalidOptionError(OptionError):
    """An option's value is ill-typed or not allowed."""


class UnsupportedOptionError(OptionError):
    """An option that Flink's connector has and Spark, or this version of it, cannot carry."""


class SecretReferenceError(OptionError):
    """A reference such as ``${env:NAME}`` in an option's value names nothing that can be read."""


class KeyStoreError(OptionError):
    """A key or trust store, or a PEM text in an option, cannot be used."""


class ConflictingOptionsError(OptionError):
    """Two options exclude each other."""


class SchemaError(KafkaSqlError):
    """A column that is declared wrongly, or that the format or Spark cannot carry."""


class BrokerError(KafkaSqlError):
    """The cluster did not do what was asked of it."""


class BrokerUnreachableError(BrokerError):
    """No broker answered in time."""


class AuthenticationError(BrokerError):
    """Broker or client does not believe who the other is: a password, a token or a certificate is refused."""


class TopicNotFoundError(BrokerError):
    """The topic does not exist."""


class TopicMismatchError(BrokerError):
    """A topic is otherwise than the table says."""


class OffsetError(BrokerError):
    """A start or end position that cannot be had."""


class DataLossError(BrokerError):
    """Records were removed before they were read."""


class FetchError(BrokerError):
    """Reading a partition stopped before its end."""


class AuthorizationError(BrokerError):
    """The user may not do what was asked."""


class DeliveryError(BrokerError):
    """Records were not acknowledged."""


class RecordTooLargeError(DeliveryError):
    """A record is larger than the producer or the topic takes."""


class RecordRejectedError(DeliveryError):
    """The broker takes no record such as this one."""


class TransactionError(BrokerError):
    """A transaction of the exactly-once sink could not be begun, decided or ended."""


class WriterFencedError(TransactionError):
    """Another query or statement writes with the same transactional id prefix."""


class PreparedTransactionLostError(TransactionError):
    """A task's transaction was aborted before the batch was decided; nothing of the batch is to be seen."""


class DecidedTransactionLostError(TransactionError):
    """The brokers have aborted a transaction that was decided to be committed; its rows are missing."""


class TransactionInDoubtError(TransactionError):
    """Whether a transaction was committed or aborted cannot be told."""


class SchemaRegistryError(KafkaSqlError):
    """The schema registry did not do what was asked of it."""


class SchemaNotFoundError(SchemaRegistryError):
    """The schema registry has no such schema, or one of another kind."""


class IncompatibleSchemaError(SchemaRegistryError):
    """The schema registry refuses a schema that is incompatible with the subject's others."""


class FormatError(KafkaSqlError):
    """A payload and a format do not fit."""


class DecodeError(FormatError):
    """A payload is not what the table declares.

    Attributes:
        row: index of the payload in the buffer that was decoded; the reader turns it into topic[partition]@offset.
        field: path of the field in the table's columns (``a.b[2]``), or None for the payload as a whole.
        reason: what was found and what was expected.
    """

    def __init__(self, row: int, field: str | None, reason: str, where: str | None = None) -> None:
        self.row, self.field, self.reason, self.where = row, field, reason, where
        place = where or f"record {row} of the buffer"
        super().__init__(f"{place}, field '{field}': {reason}" if field else f"{place}: {reason}")

    def __reduce__(self) -> tuple[type[DecodeError], tuple[int, str | None, str, str | None]]:
        return type(self), (self.row, self.field, self.reason, self.where)

    def at(self, where: str) -> DecodeError:
        """The same error with its place in Kafka, ``topic[partition]@offset``."""
        return type(self)(self.row, self.field, self.reason, where)


class EncodeError(FormatError):
    """A row has no form in the format."""


class CheckpointError(KafkaSqlError):
    """A query cannot go on from what its checkpoint holds."""


class PartitionerError(KafkaSqlError):
    """The class of 'sink.partitioner' gave no partition that the topic has."""


class CatalogFolderError(KafkaSqlError):
    """The folder that keeps the tables cannot be used."""


class WorkerPythonError(KafkaSqlError):
    """Spark's workers run a Python that does not have this package."""


class EmbeddedKafkaError(KafkaSqlError):
    """A broker on this machine could not be set up."""


class ExtensionError(KafkaSqlError):
    """The jar that teaches Spark's own shells could not be built."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known spelling that is nearest to ``word``, or None where none is near."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known spelling, or an empty string where none is near."""
    near = nearest(word, known)
    return f" Did you mean '{near}'?" if near else ""
