"""Use protobuf's library as the oracle: convert messages to rows, and create random messages."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kafka_sql.formats.protobuf.descriptors import find_message

FILE = Path(__file__).with_name("protos") / "shops.desc"
ORDER = find_message(FILE.read_bytes(), "shop.Order")
ITEM = find_message(FILE.read_bytes(), "shop2.Item")
LINE = pa.struct(
    [
        ("sku", pa.string()),
        ("price", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("qty", pa.int32()),
        ("inner", pa.struct([("x", pa.int64()), ("flags", pa.map_(pa.string(), pa.bool_()))])),
    ]
)
ORDERS = pa.schema(
    [
        *((name, pa.int32()) for name in ("i", "si", "ui", "fi", "sfi")),
        *((name, pa.int64()) for name in ("l", "sl", "ul", "fl", "sfl")),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("c", pa.string()),
        ("oi", pa.int32()),
        ("os", pa.string()),
        ("ri", pa.list_(pa.int32())),
        ("rs", pa.list_(pa.string())),
        ("lines", pa.list_(LINE)),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("ml", pa.map_(pa.int32(), LINE)),
        ("line", LINE),
        ("a", pa.string()),
        ("ol", LINE),
        ("n", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("w", pa.int64()),
        ("doc", pa.string()),
        ("cs", pa.list_(pa.string())),
        ("packed", pa.list_(pa.int64())),
        ("unpacked", pa.list_(pa.float64())),
        ("took", pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])),
        ("ws", pa.string()),
    ]
)
PART = pa.struct([("code", pa.string()), ("n", pa.int32())])
ITEMS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("size", pa.string()),
        ("sizes", pa.list_(pa.int32())),
        ("price", pa.float64()),
        ("part", PART),
        ("parts", pa.list_(PART)),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
        ("numbers", pa.list_(pa.int32())),
        ("big", pa.list_(pa.decimal128(20, 0))),
        ("y", pa.string()),
    ]
)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def expected_row(message: Message, schema: Any, read_defaults: bool) -> dict[str, Any]:
    """Return a message's row."""
    return {
        f.name: _field_value(message, message.DESCRIPTOR.fields_by_name[f.name], f.type, read_defaults) for f in schema
    }


def _field_value(message: Message, field: FieldDescriptor, arrow_type: pa.DataType, read_defaults: bool) -> Any:
    value = getattr(message, field.name)
    if pt.is_map(arrow_type):
        entries = [
            (_value(k, field.message_type.fields_by_name["key"], arrow_type.key_type, read_defaults),
             _value(value[k], field.message_type.fields_by_name["value"], arrow_type.item_type, read_defaults))
            for k in value
        ]  # fmt: skip
        return entries if entries or read_defaults else None
    if pt.is_list(arrow_type):
        entries = [_value(v, field, arrow_type.value_type, read_defaults) for v in value]
        return entries if entries or read_defaults else None
    is_converted = field.message_type is not None and not pt.is_struct(arrow_type)
    if field.has_presence and not message.HasField(field.name) and (is_converted or not read_defaults):
        return None
    return _value(value, field, arrow_type, read_defaults)


def _value(value: Any, field: FieldDescriptor, arrow_type: pa.DataType, read_defaults: bool) -> Any:
    if pt.is_struct(arrow_type):
        return expected_row(value, arrow_type, read_defaults)
    if pt.is_timestamp(arrow_type):
        return EPOCH + dt.timedelta(microseconds=value.seconds * 1_000_000 + value.nanos // 1000)
    if field.message_type is not None and pt.is_string(arrow_type) and field.message_type.name == "Struct":
        return json.loads(json_format.MessageToJson(value))
    if field.message_type is not None:
        return value.value
    if field.enum_type is not None and pt.is_string(arrow_type):
        enum_value = field.enum_type.values_by_number.get(value)
        return "UNRECOGNIZED" if enum_value is None else enum_value.name
    if pt.is_decimal(arrow_type):
        return Decimal(value)
    if pt.is_string(arrow_type) and isinstance(value, bytes):
        return value.decode(errors="replace")
    if pt.is_signed_integer(arrow_type):
        return (value + 2 ** (arrow_type.bit_width - 1)) % 2**arrow_type.bit_width - 2 ** (arrow_type.bit_width - 1)
    return value


_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def random_scalar(field: FieldDescriptor, rng: Random) -> Any:
    """Return a random value of a field that is not a message."""
    if field.enum_type is not None:
        numbers = [value.number for value in field.enum_type.values]
        return rng.choice(numbers if field.enum_type.is_closed else [*numbers, -5, 7])
    if field.cpp_type in _RANGES:
        low, high = _RANGES[field.cpp_type]
        return rng.choice([0, 1, low, high, rng.randint(low, high), rng.randint(0, 300)])
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(rng.randint(0, 5))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "".join(rng.choice("ab\0é\u20ac\U0001f600") for _ in range(rng.randint(0, 5)))
    number = rng.choice([0.0, 1.5, -0.0, float("inf"), rng.uniform(-1e9, 1e9)])
    return number if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE else float(np.float32(number))


def random_message(descriptor: Descriptor, rng: Random, depth: int = 3) -> Message:
    """Return a message with a random selection of its fields."""
    message = message_factory.GetMessageClass(descriptor)()
    if descriptor.full_name == "google.protobuf.Timestamp":
        message.seconds, message.nanos = rng.randint(-62135596800, 253402300799), rng.randint(0, 999_999_999)
        return message
    if descriptor.full_name == "google.protobuf.Struct":
        message.update({rng.choice("abc"): rng.choice([None, True, "x", 2.5, [1.0], {"y": "z"}]) for _ in range(2)})
        return message
    for field in descriptor.fields:
        if field.type == FieldDescriptor.TYPE_GROUP or (not field.is_required and rng.randint(0, 2)):
            continue
        field_value, field_message = getattr(message, field.name), field.message_type
        if field_message is not None and not depth:
            continue
        for _ in range(rng.randint(0, 3) if field.is_repeated else 1):
            if field_message is not None and field_message.GetOptions().map_entry:
                key = random_scalar(field_message.fields_by_name["key"], rng)
                value = field_message.fields_by_name["value"]
                if value.message_type is None:
                    field_value[key] = random_scalar(value, rng)
                else:
                    field_value[key].CopyFrom(random_message(value.message_type, rng, depth - 1))
            elif field_message is not None:
                submessage = field_value.add() if field.is_repeated else field_value
                submessage.SetInParent()
                submessage.CopyFrom(random_message(field_message, rng, depth - 1))
            elif field.is_repeated:
                field_value.append(random_scalar(field, rng))
            else:
                setattr(message, field.name, random_scalar(field, rng))
    return message
