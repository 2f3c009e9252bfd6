"""Formats of users: the contract, entry points, allow lists, and errors that name the option."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import DecodeError, EncodeError, InvalidOptionError, SchemaError, UnknownOptionError
from kafka_sql.formats.custom import CustomFormat, Decoded, Option, RecordwiseDecoder, report_or_raise, string
from kafka_sql.formats.payload import parse_payload
from kafka_sql.formats.registry import find_format
from kafka_sql.options import Options
from kafka_sql.options.allow_lists import ALLOW_LISTS, MODULES
from kafka_sql.sql.declarations.create import parse_create
from tests.documents import ROOT

PAIRS = pa.schema([("a", pa.string()), ("b", pa.string())])
LENGTH = pa.schema([("n", pa.int64())])


@pytest.fixture(autouse=True)
def shop_formats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the example package."""
    for name in ALLOW_LISTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(ROOT / "tests/example_formats"))
    yield
    sys.modules.pop("shop_formats", None)


@pytest.mark.parametrize("name", ["shop_formats:Pairs", "pairs"])
def test_values(name: str) -> None:
    payload = parse_payload("value.format", "value.", {"value.format": name, "value.pairs.separator": ","})
    payload = payload.with_columns(["a", "b"], ["t"])
    decoder = payload.create_decoder(PAIRS)
    errors: list[DecodeError] = []
    decoded = decoder.decode(pa.array([b"b=x,a=1", None, b"oops", b"a=2"]), errors)
    assert [c.to_pylist() for c in decoded.columns] == [["1", "2"], ["x", None]]
    assert decoded.payload_indices.to_pylist() == [0, 3]
    assert [(e.row, e.reason) for e in errors] == [(2, "expected pairs such as a=1")]
    with pytest.raises(DecodeError, match="record 0 of the buffer: expected pairs"):
        decoder.decode(pa.array([b"oops"]))
    encoder = payload.create_encoder(PAIRS)
    batch = pa.RecordBatch.from_pylist([{"a": "1", "b": "x"}, {"a": None, "b": ""}], PAIRS)
    assert encoder.encode(batch).to_pylist() == [b"a=1,b=x", b"b="]
    with pytest.raises(EncodeError, match="Column 'a': '1,2' contains the separator ','"):
        encoder.encode(pa.RecordBatch.from_pylist([{"a": "1,2", "b": ""}], PAIRS))


def test_a_buffer_at_a_time_without_an_encoder() -> None:
    format_ = find_format("shop_formats:Lengths", "format")
    assert format_.decoder(LENGTH, Options((), {})).decode(pa.array([b"ab", None])).columns[0].to_pylist() == [2, None]
    with pytest.raises(EncodeError, match="The format 'lengths' cannot be written"):
        format_.encoder(LENGTH, Options((), {})).encode(pa.RecordBatch.from_pylist([{"n": 1}], LENGTH))


def declare(columns: str, **options: str) -> Any:
    with_ = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", **options}
    text = ", ".join(f"'{key.replace('__', '.')}' = '{value}'" for key, value in with_.items())
    return validate_table(parse_create(f"CREATE TABLE t ({columns}) WITH ({text})"))


def test_tables() -> None:
    key = {"key__format": "pairs", "key__pairs__separator": "&", "key__fields": "a"}
    definition = declare("a STRING, b STRING", value__format="shop_formats:Pairs", **key)
    assert definition.key is not None
    assert definition.key.format.identifier == "pairs"
    with pytest.raises(UnknownOptionError, match=r"'pairs\.seperator'"):
        declare("a STRING", format="pairs", pairs__seperator=",")
    payload = declare("a INT", format="pairs").value
    with pytest.raises(SchemaError, match="Column 'a': the format 'pairs' supports only STRING"):
        payload.create_decoder(pa.schema([("a", pa.int32())]))
    records = {"key__format": "shop_formats:Visits", "key__fields": "a", "value__format": "json"}
    with pytest.raises(InvalidOptionError, match=r"'visits' \(option 'key\.format'\) decodes whole records"):
        declare("a STRING, b STRING", **records)
    upsert = {"connector": "upsert-kafka", "key__format": "json", "value__format": "shop_formats:Visits"}
    with pytest.raises(InvalidOptionError, match="doesn't support 'visits' as value format"):
        declare("a STRING, PRIMARY KEY (a) NOT ENFORCED", **upsert)


def test_a_format_is_imported_where_it_is_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(find_format("pairs", "value.format"))
    assert pickle.loads(pickled).identifier == "pairs"
    monkeypatch.setenv(MODULES, "other")
    with pytest.raises(InvalidOptionError, match=rf"'value\.format' = 'shop_formats:Pairs': {MODULES} does not allow"):
        pickle.loads(pickled)
    with pytest.raises(InvalidOptionError, match=f"{MODULES} does not allow module 'shop_formats'"):
        find_format("pairs", "format")
    monkeypatch.setenv(MODULES, "shop_formats")
    assert find_format("pairs", "format").identifier == "pairs"
    monkeypatch.delenv(MODULES)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "example_formats" not in p])
    sys.modules.pop("shop_formats")
    with pytest.raises(InvalidOptionError, match=r"cannot be imported here .* on every executor"):
        pickle.loads(pickled)


class Valid(CustomFormat):
    contract_version: ClassVar[int] = 1
    identifier: ClassVar[str] = "valid"
    decoded: ClassVar[Any] = None
    encoded: ClassVar[Any] = None

    def create_decoder(self, schema: pa.Schema, options: Options) -> Any:
        return self

    def create_encoder(self, schema: pa.Schema, options: Options) -> Any:
        return self

    def decode(self, payloads: Any, errors: Any = None) -> Any:
        return self.decoded(payloads) if callable(self.decoded) else self.decoded

    def encode(self, batch: pa.RecordBatch) -> Any:
        return self.encoded(batch) if callable(self.encoded) else self.encoded


def install(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> str:
    module = ModuleType("local_formats")
    own = type("Own", (Valid,), {**attributes, "__module__": "local_formats"})
    module.__dict__.update(Own=own, NotOne=type("NotOne", (), {"__module__": "local_formats"}))
    monkeypatch.setitem(sys.modules, "local_formats", module)
    return "local_formats:Own"


def bad_constructor(self: object, _: object) -> None:
    """Take an argument."""


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"contract_version": 2}, "the class has contract_version = 2, but this version of kafka_sql supports 1"),
        ({"identifier": "json"}, "identifier = 'json' is not allowed"),
        ({"identifier": "scan"}, "identifier = 'scan' is not allowed"),
        ({"identifier": "A"}, "identifier = 'A' is not allowed"),
        ({"identifier": 7}, "identifier = 7 is not allowed"),
        ({"options": (string("other.x", "doc"),)}, r"the key of option 'other\.x' must start with 'valid\.'"),
        ({"__init__": bad_constructor}, "the class cannot be instantiated without arguments"),
    ],
)
def test_classes_that_do_not_follow_the_contract(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, Any], message: str
) -> None:
    name = install(monkeypatch, **attributes)
    with pytest.raises(InvalidOptionError, match=rf"Option 'key\.format' = 'local_formats:Own': {message}") as e:
        find_format(name, "key.format")
    assert e.value.option == "key.format"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("local_formats:NotOne", "expected a subclass of kafka_sql.formats.custom.CustomFormat"),
        ("local_formats:Missing", "module 'local_formats' has no callable 'Missing'"),
        ("missing_module:Own", "module 'missing_module' cannot be imported here"),
        ("other-name", "the entry point names a format with the identifier 'pairs'"),
        ("nothing", "Available format identifiers are: .* and 'module:Class' of a custom format"),
        ("https://user:secret@host", r"identifier 'https://\*\*\*"),
    ],
)
def test_names(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    install(monkeypatch)
    with pytest.raises(InvalidOptionError, match=message):
        find_format(name, "format")


def fail(_: object) -> Any:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("decoded", "message"),
    [
        (fail, "the decoder failed: KeyError: 'x'"),
        ([], "the decoder returned list, expected kafka_sql.formats.custom.Decoded"),
        (Decoded([]), "the decoder returned columns of the types , expected int64"),
        (Decoded([pa.array([1], pa.int32())]), "columns of the types int32, expected int64"),
        (Decoded([pa.array([1, 2, 3])]), "columns of 3 rows, expected 2"),
        (Decoded([pa.array([1, 2])], pa.array([1, 0])), "payload_indices that are not ascending numbers from 0 to 1"),
        (Decoded([pa.array([1])], pa.array([2])), "payload_indices that are not ascending numbers from 0 to 1"),
        (Decoded([pa.array([1, 2])], pa.array([0, None])), "payload_indices that are not ascending numbers"),
        (Decoded([pa.array([1, 2])], [0, 1]), "payload_indices that are not a pyarrow array of type int64"),
        (Decoded([pa.array([1])], pa.array([0], pa.int8())), "payload_indices that are not a pyarrow array of type"),
        (Decoded([pa.chunked_array([[1, 2]])]), "columns of the types ChunkedArray, expected int64"),
    ],
)
def test_what_decoders_return_is_checked(monkeypatch: pytest.MonkeyPatch, decoded: Any, message: str) -> None:
    attribute = staticmethod(decoded) if callable(decoded) else decoded
    decoder = find_format(install(monkeypatch, decoded=attribute), "format").decoder(LENGTH, Options((), {}))
    with pytest.raises(InvalidOptionError, match=f"Option 'format' = 'local_formats:Own': .*{message}"):
        decoder.decode(pa.array([b"", b""]))


def report(payloads: pa.Array, errors: Any) -> Any:
    report_or_raise(errors, DecodeError(len(payloads), None, "counted from 1"))
    return Decoded([pa.array([], pa.int64())], pa.array([], pa.int64()))


@pytest.mark.parametrize("errors", [None, []])
def test_errors_of_payloads_that_do_not_exist(monkeypatch: pytest.MonkeyPatch, errors: Any) -> None:
    name = install(monkeypatch, decode=lambda _, payloads, errors=None: report(payloads, errors))
    decoder = find_format(name, "format").decoder(LENGTH, Options((), {}))
    message = (
        "Option 'format' = 'local_formats:Own': the decoder reported an error of payload 2, expected .* from 0 to 1"
    )
    with pytest.raises(InvalidOptionError, match=f"{message}: counted from 1"):
        decoder.decode(pa.array([b"", b""]), errors)


@pytest.mark.parametrize("encoded", [fail, pa.array(["x"]), pa.array([b"x", b"y"]), [b"x"], pa.chunked_array([[b"x"]])])
def test_what_encoders_return_is_checked(monkeypatch: pytest.MonkeyPatch, encoded: Any) -> None:
    attribute = staticmethod(encoded) if callable(encoded) else encoded
    encoder = find_format(install(monkeypatch, encoded=attribute), "format").encoder(LENGTH, Options((), {}))
    with pytest.raises(
        InvalidOptionError, match=r"Option 'format' = 'local_formats:Own': the encoder (failed: KeyE|must)"
    ):
        encoder.encode(pa.RecordBatch.from_pylist([{"n": 1}], LENGTH))


class Fixed(RecordwiseDecoder):
    def rows(self, payload: bytes) -> list[dict[str, Any]]:
        return [{"n": 1}, {"n": {b"null": None, b"text": "x", b"large": 2**70}[payload]}]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b"null", "column 'n' is null, but declared NOT NULL"), (b"text", "column 'n': "), (b"large", "column 'n': ")],
)
def test_a_value_of_another_type_is_an_error_of_its_record(payload: bytes, reason: str) -> None:
    errors: list[DecodeError] = []
    decoded = Fixed(pa.schema([pa.field("n", pa.int64(), nullable=False)])).decode(pa.array([payload]), errors)
    assert decoded.columns[0].to_pylist() == []
    assert [(e.row, e.reason.startswith(reason)) for e in errors] == [(0, True)]


def test_the_example_is_a_package(tmp_path: Path) -> None:
    assert (ROOT / "tests/example_formats/shop_formats-1.0.dist-info/entry_points.txt").is_file()
    assert isinstance(find_format("pairs", "format").options[0], Option)
