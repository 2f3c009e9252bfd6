"""No payload of the raw format is decoded in more than linear time and memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.unit.formats.growth import assert_all_linear, assert_linear_decoding, repeated
from tests.unit.formats.hostile_texts import STRINGS

PARTS = [b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf0\x90", b"\0", b"\xd8\0", b"\x1b$B", b"+AGE-", b"\r\n", b"a", b"ab"]


@pytest.mark.parametrize(
    ("type", "options"),
    [
        (pa.string(), {}),
        (pa.string(), {"line-delimiter": "a"}),
        (pa.string(), {"line-delimiter": "aab", "charset": "ISO-8859-1"}),
        *((pa.string(), {"charset": name}) for name in ("UTF-16", "UTF-32", "GB18030", "ISO-2022-JP", "Shift_JIS")),
        (pa.binary(), {}),
        (pa.int64(), {}),
    ],
)
def test_payloads(type: pa.DataType, options: dict[str, str]) -> None:
    raw = FORMATS["raw"]
    decoder = raw.decoder(
        pa.schema([("c", type)]), Options(raw.options, {f"raw.{key}": value for key, value in options.items()})
    )
    shapes = {repr(part): repeated(b"", part) for part in PARTS}
    shapes |= {name: lambda size, text=text: text(size).encode() for name, text in STRINGS.items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, 1 << 17))
