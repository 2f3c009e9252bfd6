"""Load recorded cases of values that Flink decoded and encoded, and format values as those files do.

Each line is a case. In csv/flink_csv.jsonl: columns, options, payload (as Latin-1), the row that Flink 2.3 reads (empty
if it skips the record, or "error"), and the payload that it writes for that row.
"""

from __future__ import annotations

import json
import struct
from decimal import Context
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

SCALARS: Final = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DECIMAL(38,18)": pa.decimal128(38, 18),
    "DECIMAL(5,0)": pa.decimal128(5, 0),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
    "TIME(3)": pa.time64("ns"),
    "TIMESTAMP(6)": pa.timestamp("us"),
    "TIMESTAMP_LTZ(6)": pa.timestamp("us", "UTC"),
}


def load_cases(name: str) -> list[Any]:
    """Load the cases of a file, given its path from this folder."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return [json.loads(line) for line in lines]


def column_type(spec: list[str]) -> pa.DataType:
    """Return the type for ``["INT"]``, ``["ARRAY", "INT"]`` or ``["ROW", "INT", "STRING"]``, with fields x and y."""
    if spec[0] == "ARRAY":
        return pa.list_(SCALARS[spec[1]])
    if spec[0] == "ROW":
        return pa.struct([(name, SCALARS[sql_name]) for name, sql_name in zip("xy", spec[1:], strict=False)])
    return SCALARS[spec[0]]


def format_values(array: pa.Array) -> list[str]:
    """Format each value as the files do: exact to the bit, and independent of how a language prints it."""
    arrow_type = array.type
    valid = array.is_valid().to_pylist()
    if pt.is_struct(arrow_type):
        rows = zip(*map(format_values, array.flatten()), strict=True)
        texts = [f"({','.join(row)})" for row in rows]
    elif pt.is_list(arrow_type):
        texts = [f"[{','.join(format_values(scalar.values))}]" if scalar.is_valid else "" for scalar in array]
    elif pt.is_date(arrow_type):
        texts = [str(v) for v in array.cast(pa.int32()).to_pylist()]
    elif pt.is_timestamp(arrow_type):
        texts = [f"{v or 0:d}000ns" if v else "0ns" for v in array.cast(pa.int64()).to_pylist()]
    elif pt.is_time(arrow_type):
        texts = [str((v or 0) // 1_000_000) for v in array.cast(pa.int64()).to_pylist()]
    else:
        texts = [_format_scalar(v, arrow_type) if v is not None else "" for v in array.to_pylist()]
    return [text if is_valid else "~" for text, is_valid in zip(texts, valid, strict=True)]


def _format_scalar(value: Any, arrow_type: pa.DataType) -> str:
    if pt.is_decimal(arrow_type):
        unscaled = int(value.scaleb(arrow_type.scale, Context(prec=38)))
        return f"{unscaled}@{arrow_type.scale}"
    if pt.is_floating(arrow_type):
        letter, code, nan = ("f", ">f", "7fc00000") if arrow_type.bit_width == 32 else ("d", ">d", "7ff8000000000000")
        bits = nan if value != value else struct.pack(code, value).hex()
        return letter + (bits.lstrip("0") or "0")
    if pt.is_string(arrow_type):
        return "x" + value.encode().hex()
    if pt.is_binary(arrow_type):
        return "bx" + value.hex()
    return str(value).lower()
