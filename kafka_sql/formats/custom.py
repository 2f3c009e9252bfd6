"""Support formats that users write: their base classes, and the import of ``module:Class`` or of an entry point.

A format is a subclass of ``CustomFormat``. It creates a decoder and an encoder, which convert whole buffers of payloads
to and from Arrow columns. ``RecordwiseDecoder`` and ``RowwiseEncoder`` are base classes for code that handles one
record at a time. docs/formats/custom.md describes the contract.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Any, ClassVar, Final

import pyarrow as pa

from kafka_sql.errors import DecodeError, EncodeError, InvalidOptionError, KafkaSqlError, SchemaError
from kafka_sql.formats.format import Decoded, Decoder, Encoder, ErrorSink, Format, report_or_raise
from kafka_sql.options import Option, Options, boolean, duration, enum, integer, string, string_list
from kafka_sql.options.allow_lists import import_callable
from kafka_sql.options.connector import KAFKA_OPTIONS
from kafka_sql.options.secrets import mask_user_info

__all__ = [
    "CONTRACT_VERSION",
    "CustomFormat",
    "DecodeError",
    "Decoded",
    "Decoder",
    "EncodeError",
    "Encoder",
    "ErrorSink",
    "Option",
    "Options",
    "RecordwiseDecoder",
    "RowwiseEncoder",
    "SchemaError",
    "boolean",
    "duration",
    "enum",
    "integer",
    "report_or_raise",
    "string",
    "string_list",
]

CONTRACT_VERSION: Final = 1
ENTRY_POINT_GROUP: Final = "kafka_sql.formats"

_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9-]*")
_REFERENCE: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", re.ASCII)
_RESERVED: Final = {key.partition(".")[0] for option in KAFKA_OPTIONS for key in option.keys} | {"properties"}
_IMPORT_ADVICE: Final = (
    " The module must be importable on the driver and on every executor: install its package there, or distribute it "
    "with spark.submit.pyFiles or spark.addArtifact."
)


class CustomFormat(ABC):
    """A format that options name as ``module:Class``. It is instantiated without arguments, on driver and executors.

    Attributes:
        contract_version: the version of this contract that the class is written for; 1 is the only one.
        identifier: what the keys of the format's options start with: lower-case letters, digits and hyphens.
        options: the options; the key of each starts with the identifier and a dot.
        reads_records: whether the decoder gets whole records instead of the payloads of values: a RecordBatch with the
            columns ``key``, ``value``, ``topic``, ``partition``, ``offset``, ``timestamp`` and ``headers``.

    Example::

        class Numbers(CustomFormat):
            contract_version = 1
            identifier = "numbers"

            def create_decoder(self, schema, options):
                return NumbersDecoder(schema)
    """

    contract_version: ClassVar[int]
    identifier: ClassVar[str]
    options: ClassVar[tuple[Option[Any], ...]] = ()
    reads_records: ClassVar[bool] = False

    @abstractmethod
    def create_decoder(self, schema: pa.Schema, options: Options) -> Decoder:
        """Return the decoder of a table.

        Args:
            schema: the names and Arrow types of the payload's columns.
            options: the validated options: ``options[OPTION]`` is the typed value.

        Raises:
            SchemaError: the format does not support a column's type. The message should name the column.
        """

    def create_encoder(self, schema: pa.Schema, options: Options) -> Encoder:
        """Return the encoder of a table; by default, one that rejects all rows. See ``create_decoder``."""
        return _ReadOnlyEncoder(self.identifier)


class _ReadOnlyEncoder:
    def __init__(self, identifier: str) -> None:
        self._identifier = identifier

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        raise EncodeError(f"The format '{self._identifier}' cannot be written: its class has no create_encoder.")


class RecordwiseDecoder(ABC):
    """Decodes one payload at a time; with ``reads_records``, one record at a time.

    If ``rows`` raises a ValueError, the payload is undecodable. The error that names the record quotes its message.

    Example::

        class NumbersDecoder(RecordwiseDecoder):
            def rows(self, payload):
                for text in payload.split():
                    yield {"n": int(text)}
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    @abstractmethod
    def rows(self, payload: Any) -> Iterable[Mapping[str, Any]]:
        """Return the rows of a payload, each as values by column name. A column that is missing is NULL.

        Args:
            payload: bytes; the method is not called for null. With ``reads_records``, a dict with the columns of the
                record; ``key`` and ``value`` can be None.

        Raises:
            ValueError: the payload is undecodable.
        """

    def decode(self, payloads: Any, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer; see ``Decoder``."""
        rows: list[list[Any]] = []
        indices: list[int] = []
        for index, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            try:
                new_rows = [[row.get(name) for name in self.schema.names] for row in self.rows(payload)]
                self._check(new_rows)
            except ValueError as e:
                report_or_raise(errors, DecodeError(index, None, str(e)))
                continue
            rows += new_rows
            indices += [index] * len(new_rows)
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self.schema)]
        return Decoded(columns, pa.array(indices, pa.int64()))

    def _check(self, rows: list[list[Any]]) -> None:
        """Check that the rows of one payload fit the columns, so that an error is that of this payload only."""
        for i, field in enumerate(self.schema):
            values = [row[i] for row in rows]
            if not field.nullable and None in values:
                raise ValueError(f"column '{field.name}' is null, but declared NOT NULL")
            try:
                pa.array(values, field.type)
            except (pa.ArrowException, OverflowError, TypeError) as e:
                raise ValueError(f"column '{field.name}': {e}") from e


class RowwiseEncoder(ABC):
    """Encodes one row at a time.

    Example::

        class NumbersEncoder(RowwiseEncoder):
            def payload(self, row):
                return str(row["n"]).encode()
    """

    @abstractmethod
    def payload(self, row: dict[str, Any]) -> bytes | None:
        """Return the payload of a row, which has values by column name; None is a record without a payload.

        Raises:
            EncodeError: the format cannot represent a value.
        """

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        return pa.array([self.payload(row) for row in batch.to_pylist()], pa.binary())


@dataclass(frozen=True)
class ImportedFormat(Format):
    """A format of a user. It is imported again where it is unpickled, so that executors check their allow lists, too.

    Attributes:
        reference: ``module:Class``.
        option: the key of the option that names it.
    """

    reference: str = ""
    option: str = ""

    def __reduce__(self) -> tuple[Callable[..., Format], tuple[str, str, Mapping[str, object]]]:
        return load_format, (self.reference, self.option, {})


def find_custom_format(name: str, option: str, built_in: Mapping[str, object]) -> Format | None:
    """Return the format that ``module:Class`` or an entry point names; None if there is no such entry point.

    Args:
        built_in: the formats of this package by identifier. A custom format cannot have one of these identifiers.

    Raises:
        InvalidOptionError: the class cannot be imported, is not allowed, or does not follow the contract.
    """
    if _REFERENCE.fullmatch(name):
        return load_format(name, option, built_in)
    if not _IDENTIFIER.fullmatch(name):
        return None
    found = sorted({point.value for point in entry_points(group=ENTRY_POINT_GROUP, name=name)})
    if not found:
        return None
    if len(found) > 1:
        problem = f"several packages have an entry point of this name: {', '.join(found)}. "
        raise _option_error(option, name, problem + "Uninstall all but one, or write 'module:Class'.")
    format_ = load_format(found[0], option, built_in)
    if format_.identifier != name:
        problem = f"the entry point names a format with the identifier '{format_.identifier}'. Both must be equal."
        raise _option_error(option, name, problem)
    return format_


def _option_error(option: str, value: str, problem: str) -> InvalidOptionError:
    return InvalidOptionError(f"Option '{option}' = '{mask_user_info(value)}': {problem}", option=option)


def load_format(reference: str, option: str, built_in: Mapping[str, object]) -> ImportedFormat:
    """Import the class of a custom format, and return the format. Parameters and errors: see ``find_custom_format``."""
    custom_class = import_callable(option, reference, "here", _IMPORT_ADVICE)
    fail = partial(_option_error, option, reference)
    if not (isinstance(custom_class, type) and issubclass(custom_class, CustomFormat)):
        raise fail("expected a subclass of kafka_sql.formats.custom.CustomFormat.")
    version = getattr(custom_class, "contract_version", None)
    if version != CONTRACT_VERSION:
        raise fail(
            f"the class has contract_version = {version!r}, but this version of kafka_sql supports {CONTRACT_VERSION}."
        )
    identifier = getattr(custom_class, "identifier", "")
    is_valid = isinstance(identifier, str) and _IDENTIFIER.fullmatch(identifier)
    if not is_valid or identifier in _RESERVED or identifier in built_in:
        raise fail(
            f"identifier = {identifier!r} is not allowed. Expected lower-case letters, digits and hyphens, and not "
            "the name of another format or the beginning of an option of the connector."
        )
    wrong = [o.key for o in custom_class.options if not o.key.startswith(f"{identifier}.")]
    if wrong:
        raise fail(f"the key of option '{wrong[0]}' must start with '{identifier}.'.")
    try:
        format_ = custom_class()
    except TypeError as e:
        raise fail(f"the class cannot be instantiated without arguments: {e}.") from e
    return ImportedFormat(
        identifier,
        custom_class.options,
        lambda schema, options: _CheckedDecoder(format_.create_decoder(schema, options), schema, fail),
        lambda schema, options: _CheckedEncoder(format_.create_encoder(schema, options), fail),
        reads_records=custom_class.reads_records,
        reference=reference,
        option=option,
    )


class _CheckedDecoder:
    """Names the option in errors of a user's decoder, and checks what it returns."""

    def __init__(self, decoder: Decoder, schema: pa.Schema, fail: Callable[[str], InvalidOptionError]) -> None:
        self._decoder, self._schema, self._fail = decoder, schema, fail

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        try:
            decoded = self._decoder.decode(payloads, errors)
        except DecodeError as e:
            self._check_rows([e], len(payloads))
            raise
        except KafkaSqlError:
            raise
        except Exception as e:
            raise self._fail(f"the decoder failed: {type(e).__name__}: {e}") from e
        self._check_rows(errors or (), len(payloads))
        problem = self._find_problem(decoded, len(payloads), errors)
        if problem:
            raise self._fail(f"the decoder returned {problem}.")
        return decoded

    def _check_rows(self, errors: Iterable[DecodeError], payload_count: int) -> None:
        """Check that errors are of payloads of the buffer, because the reader looks up their offsets."""
        for error in errors:
            if not 0 <= error.row < payload_count:
                raise self._fail(
                    f"the decoder reported an error of payload {error.row}, expected an index from 0 to "
                    f"{payload_count - 1}: {error.reason}"
                ) from error

    def _find_problem(self, decoded: Any, payload_count: int, errors: ErrorSink) -> str:
        if not isinstance(decoded, Decoded):
            return f"{type(decoded).__name__}, expected kafka_sql.formats.custom.Decoded"
        types = [c.type if isinstance(c, pa.Array) else type(c).__name__ for c in decoded.columns]
        if types != self._schema.types:
            return (
                f"columns of the types {', '.join(map(str, types))}, expected {', '.join(map(str, self._schema.types))}"
            )
        indices = decoded.payload_indices
        if indices is not None and (not isinstance(indices, pa.Array) or indices.type != pa.int64()):
            return "payload_indices that are not a pyarrow array of type int64"
        rows = payload_count if indices is None else len(indices)
        if any(len(column) != rows for column in decoded.columns):
            return f"columns of {', '.join(str(len(c)) for c in decoded.columns)} rows, expected {rows}"
        if indices is None:
            return "errors, but no payload_indices" if errors else ""
        numbers = indices.drop_null().to_pylist()
        is_ascending = indices.null_count == 0 and numbers == sorted(numbers)
        if not is_ascending or (numbers and not 0 <= numbers[0] <= numbers[-1] < payload_count):
            return f"payload_indices that are not ascending numbers from 0 to {payload_count - 1}"
        return ""


class _CheckedEncoder:
    """Names the option in errors of a user's encoder, and checks what it returns."""

    def __init__(self, encoder: Encoder, fail: Callable[[str], InvalidOptionError]) -> None:
        self._encoder, self._fail = encoder, fail

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        try:
            payloads = self._encoder.encode(batch)
        except KafkaSqlError:
            raise
        except Exception as e:
            raise self._fail(f"the encoder failed: {type(e).__name__}: {e}") from e
        is_binary = isinstance(payloads, pa.Array) and payloads.type == pa.binary()
        if not is_binary or len(payloads) != batch.num_rows:
            raise self._fail(
                f"the encoder must return a pyarrow array of type binary with one payload per row ({batch.num_rows})."
            )
        return payloads
