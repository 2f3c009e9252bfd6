"""Test the raw format against the struct module, and malformed text against what Java decodes."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError, InvalidOptionError, SchemaError
from kafka_sql.formats.java.charset import Charset
from kafka_sql.formats.raw import RAW
from kafka_sql.options import Options
from tests.fuzz.mutation import mutate

NUMBERS = {
    pa.bool_(): "?",
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.float32(): "f",
    pa.float64(): "d",
}


def decode(arrow_type: pa.DataType, payloads: pa.Array, **options: str) -> pa.Array:
    """Decode payloads to the column."""
    raw_options = Options(RAW.options, {f"raw.{key}": text for key, text in options.items()})
    decoded = RAW.decoder(pa.schema([("a", arrow_type)]), raw_options).decode(payloads)
    assert decoded.payload_indices is None
    (column,) = decoded.columns
    column.validate(full=True)
    assert column.type == arrow_type
    return column


def encode(column: pa.Array, **options: str) -> list[Any]:
    """Encode the column."""
    raw_options = Options(RAW.options, {f"raw.{key}": text for key, text in options.items()})
    batch = pa.RecordBatch.from_arrays([column], ["a"])
    payloads = RAW.encoder(batch.schema, raw_options).encode(batch)
    payloads.validate(full=True)
    assert payloads.type == pa.binary()
    return list(payloads.to_pylist())


@given(st.data(), st.sampled_from(list(NUMBERS)), st.sampled_from(("big-endian", "little-endian")), st.integers(0, 2))
def test_numbers(data: st.DataObject, arrow_type: pa.DataType, order: str, start: int) -> None:
    code = NUMBERS[arrow_type]
    bits = 8 * struct.calcsize(code)
    value = {"?": st.booleans(), "f": st.floats(width=32, allow_nan=False), "d": st.floats(allow_nan=False)}.get(
        code, st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    values = data.draw(st.lists(st.none() | value))
    layout = (">" if order == "big-endian" else "<") + code
    payloads = [None if v is None else struct.pack(layout, v) for v in values]
    assert decode(arrow_type, pa.array(payloads, pa.binary())[start:], endianness=order).to_pylist() == values[start:]
    assert encode(pa.array(values, arrow_type)[start:], endianness=order) == payloads[start:]


def test_any_nonzero_byte_is_true() -> None:
    assert decode(pa.bool_(), pa.array([b"\0", b"\1", b"\xff"])).to_pylist() == [False, True, True]


@pytest.mark.parametrize(
    ("arrow_type", "name"), [(pa.bool_(), "BOOLEAN"), (pa.int16(), "SMALLINT"), (pa.float64(), "DOUBLE")]
)
def test_a_wrong_length_is_an_error(arrow_type: pa.DataType, name: str) -> None:
    width = struct.calcsize(NUMBERS[arrow_type])
    with pytest.raises(DecodeError) as e:
        decode(arrow_type, pa.array([b"0" * width, None, b"0" * (width + 1), b""]))
    assert (e.value.row, e.value.field) == (2, "a")
    assert e.value.reason == (
        f"Size of data received for deserializing {name} type is not {width}: found {width + 1} bytes"
    )


def test_bytes_share_the_memory_of_the_payloads() -> None:
    payloads = pa.array([b"\0\xff", None, b""])
    column = decode(pa.binary(), payloads)
    assert column.buffers()[2].address == payloads.buffers()[2].address
    assert column.equals(payloads)
    assert encode(column) == [b"\0\xff", None, b""]


def test_strings_share_the_memory_of_the_payloads() -> None:
    payloads = pa.array(["é".encode(), None, b""])
    column = decode(pa.string(), payloads)
    assert column.buffers()[2].address == payloads.buffers()[2].address
    assert column.to_pylist() == ["é", None, ""]
    assert encode(column) == ["é".encode(), None, b""]


@pytest.mark.parametrize(
    ("payload", "replacements"),
    [  # the results of Java's new String(bytes, UTF_8)
        ("ff", "\ufffd"),
        ("80 80", "\ufffd\ufffd"),
        ("c0 80", "\ufffd\ufffd"),
        ("e2 82", "\ufffd"),
        ("e2 28 a1", "\ufffd(\ufffd"),
        ("f0 9f 98", "\ufffd"),
        ("f0 9f 41", "\ufffdA"),
        ("e0 80 80", "\ufffd\ufffd\ufffd"),
        ("f5 80 80 80", "\ufffd\ufffd\ufffd\ufffd"),
        ("ed a0 80", "\ufffd"),
        ("ed a0 80 41", "\ufffdA"),
        ("ed bf 41", "\ufffdA"),
    ],
)
def test_malformed_utf8_is_replaced_as_in_java(payload: str, replacements: str) -> None:
    column = decode(pa.string(), pa.array([b"good"] * 100 + [bytes.fromhex(payload), None]))
    assert column.to_pylist() == ["good"] * 100 + [replacements, None]


@pytest.mark.parametrize(
    ("charset", "text", "payload"),
    [
        ("ISO-8859-1", "é", b"\xe9"),
        ("US-ASCII", "e", b"e"),
        ("windows-1252", "€", b"\x80"),
        ("GBK", "中", b"\xd6\xd0"),
        ("Shift_JIS", "あ", b"\x82\xa0"),
        ("UTF-16", "é", b"\xfe\xff\0\xe9"),
        ("UTF-16LE", "é", b"\xe9\0"),
        ("UTF-32", "é", b"\0\0\0\xe9"),
        ("utf8", "é", b"\xc3\xa9"),
    ],
)
def test_charsets(charset: str, text: str, payload: bytes) -> None:
    assert decode(pa.string(), pa.array([payload, None, b""]), charset=charset).to_pylist() == [text, None, ""]
    assert encode(pa.array([text, None, ""]), charset=charset) == [payload, None, b""]


def test_characters_that_a_charset_lacks() -> None:
    assert encode(pa.array(["aé€"]), charset="ISO-8859-1") == [b"a\xe9?"]
    assert decode(pa.string(), pa.array([b"a\xe9"]), charset="US-ASCII").to_pylist() == ["a\ufffd"]
    assert decode(pa.string(), pa.array([b"\0\xe9", b"\xff\xfe\xe9\0"]), charset="UTF-16").to_pylist() == ["é", "é"]


@pytest.mark.parametrize("charset", ["UTF-9", "base64", "idna", "rot13"])
def test_an_unknown_charset(charset: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"'{charset}' for option 'raw.charset': expected the name of a char"):
        Options(RAW.options, {"raw.charset": charset})


def test_null_in_a_not_null_column() -> None:
    decoder = RAW.decoder(pa.schema([pa.field("a", pa.string(), nullable=False)]), Options(RAW.options, {}))
    assert decoder.decode(pa.array([b"x"])).columns[0].to_pylist() == ["x"]
    with pytest.raises(DecodeError) as e:
        decoder.decode(pa.array([b"x", None]))
    assert e.value.row == 1


@pytest.mark.parametrize("create", [RAW.decoder, RAW.encoder])
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            pa.schema([("a", pa.string()), ("b", pa.int32())]),
            r"only supports single physical column\. .* multiple physical columns: \['a' string, 'b' int32\]",
        ),
        (pa.schema([]), "contains no physical columns"),
        (pa.schema([("a", pa.date32())]), "doesn't support 'date32.*' as type of column 'a'"),
    ],
)
def test_unsupported_columns(create: Any, schema: pa.Schema, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        create(schema, Options(RAW.options, {}))


def fuzz(records: int, seed: int) -> None:
    """Decode mutated payloads: all of them as strings, and the first eight bytes of each as numbers."""
    rng = random.Random(seed)
    text, number = (
        RAW.decoder(pa.schema([("a", arrow_type)]), Options(RAW.options, {}))
        for arrow_type in (pa.string(), pa.int64())
    )
    for start in range(0, records, 10_000):
        payloads = [mutate(rng, b"text \xc3\xa9 \xf0\x9f\x98\x80 {}") for _ in range(min(10_000, records - start))]
        column = text.decode(pa.array(payloads, pa.binary())).columns[0]
        column.validate(full=True)
        java = Charset.from_java_name("UTF-8")
        assert column.to_pylist() == [java.decode(p) for p in payloads]
        eight_bytes = [p[:8] for p in payloads if len(p) >= 8]
        expected = np.frombuffer(b"".join(eight_bytes), ">i8")
        assert (number.decode(pa.array(eight_bytes)).columns[0].to_numpy() == expected).all()


def test_mutated_payloads() -> None:
    fuzz(2_000, 1)


def decode_lines(delimiter: str, *payloads: bytes | None, charset: str = "UTF-8") -> tuple[list[str], list[int]]:
    options = Options(RAW.options, {"raw.line-delimiter": delimiter, "raw.charset": charset})
    decoded = RAW.decoder(pa.schema([("a", pa.string())]), options).decode(pa.array(payloads, pa.binary()))
    (column,) = decoded.columns
    assert decoded.payload_indices is not None
    return column.to_pylist(), decoded.payload_indices.to_pylist()


def test_each_line_is_a_row() -> None:
    assert decode_lines(r"\n", b"a\nb", None, b"", b"c\n", b"\n", b"d\n\n") == (
        ["a", "b", "", "c", "", "d", ""],
        [0, 0, 2, 3, 4, 5, 5],
    )
    assert decode_lines("||", "é||ü".encode()) == (["é", "ü"], [0, 0])
    assert decode_lines(r"\u007C", b"a|b") == (["a", "b"], [0, 0])
    assert decode_lines(r"\n", "你好\n世界".encode("gbk"), charset="GBK") == (["你好", "世界"], [0, 0])
    assert decode_lines(r"\r\n") == ([], [])


def test_a_written_payload_ends_with_the_delimiter() -> None:
    column = pa.array(["a", None, ""])
    assert encode(column, **{"line-delimiter": r"\n"}) == [b"a\n", None, b"\n"]
    assert encode(pa.array(["é"]), **{"line-delimiter": "ü", "charset": "ISO-8859-1"}) == ["éü".encode("latin-1")]


def test_lines_require_text_and_a_delimiter() -> None:
    with pytest.raises(SchemaError, match=r"'raw.line-delimiter' requires a STRING column, but column 'a' is 'int32'"):
        decode(pa.int32(), pa.array([], pa.binary()), **{"line-delimiter": ","})
    with pytest.raises(InvalidOptionError, match="expected at least one character"):
        encode(pa.array(["a"]), **{"line-delimiter": ""})
