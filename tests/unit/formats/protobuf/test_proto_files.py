"""The protobuf format with .proto files instead of a descriptor file, and names of Java classes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.formats.protobuf import PROTOBUF
from kafka_sql.formats.protobuf.descriptors import find_by_java_class
from kafka_sql.formats.protobuf.protoc import read_files
from kafka_sql.options import Options
from kafka_sql.options.allow_lists import PATHS

# the example of Flink's documentation
SIMPLE = """syntax = "proto2";
package com.example;
option java_package = "com.example";
option java_multiple_files = true;
message SimpleTest {
    optional int64 uid = 1;
    optional string name = 2;
    optional int32 category_type = 3;
    map<string, InnerMessageTest> map1 = 7;
    message InnerMessageTest { optional int64 v1 = 1; }
}
"""
ORDER = """syntax = "proto3";
package shop;
import "shop/money.proto"; // import "comment.proto";
import public "google/protobuf/timestamp.proto";
message Order { string id = 1; Money price = 2; google.protobuf.Timestamp at = 3; }
"""
MONEY = """syntax = "proto3"; package shop; message Money { int64 cents = 1; }"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with .proto files."""
    (tmp_path / "protos/shop").mkdir(parents=True)
    (tmp_path / "simple.proto").write_text(SIMPLE)
    (tmp_path / "protos/shop/order.proto").write_text(ORDER)
    (tmp_path / "protos/shop/money.proto").write_text(MONEY)
    return tmp_path


def decode(schema: pa.Schema, payload: bytes, **options: str) -> list[Any]:
    named = {f"protobuf.{key.replace('_', '-')}": value for key, value in options.items()}
    decoder = PROTOBUF.decoder(schema, Options(PROTOBUF.options, named, "value."))
    return [column.to_pylist()[0] for column in decoder.decode(pa.array([payload])).columns]


def test_flinks_example(folder: Path) -> None:
    schema = pa.schema([("uid", pa.int64()), ("name", pa.string())])
    file = str(folder / "simple.proto")
    payload = b"\x08\x07\x12\x01x"
    assert decode(schema, payload, proto_file=file, message_class_name="com.example.SimpleTest") == [7, "x"]
    inner = "com.example.SimpleTest$InnerMessageTest"
    assert decode(pa.schema([("v1", pa.int64())]), b"\x08\x07", proto_file=file, message_class_name=inner) == [7]
    options = Options(
        PROTOBUF.options, {"protobuf.proto-file": file, "protobuf.message-class-name": "com.example.SimpleTest"}
    )
    assert PROTOBUF.infer_schema is not None
    assert PROTOBUF.infer_schema(options).columns == (
        ("uid", "BIGINT"),
        ("name", "STRING"),
        ("category_type", "INT"),
        ("map1", "MAP<STRING NOT NULL, ROW<`v1` BIGINT>>"),
    )


def test_imports(folder: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("price", pa.struct([("cents", pa.int64())]))])
    file = str(folder / "protos/shop/order.proto")
    payload = b"\x0a\x01x\x12\x02\x08\x05"
    values = decode(
        schema, payload, proto_file=file, proto_path=f"/nowhere;{folder}/protos", message_class_name="shop.Order"
    )
    assert values == ["x", {"cents": 5}]
    name, texts = read_files(file, [str(folder / "protos")])
    assert (name, sorted(n for n, _ in texts)) == ("shop/order.proto", ["shop/money.proto", "shop/order.proto"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, MissingOptionError, r"Set 'value\.protobuf\.proto-file' to a \.proto file, or"),
        (
            {"proto_file": "{folder}/simple.proto", "descriptor_file": "x"},
            ConflictingOptionsError,
            r"'value\.protobuf\.descriptor-file' and 'value\.protobuf\.proto-file' shouldn't be set together",
        ),
        (
            {"descriptor_file": "x", "proto_path": "y"},
            ConflictingOptionsError,
            r"'value\.protobuf\.descriptor-file' and 'value\.protobuf\.proto-path' shouldn't",
        ),
        (
            {"proto_file": "{folder}/none.proto"},
            InvalidOptionError,
            r"file of option 'value\.protobuf\.proto-file' cannot be read: .*none\.proto: No such file",
        ),
        (
            {"proto_file": "{folder}/simple.proto", "message_class_name": "com.example.Simple"},
            InvalidOptionError,
            r"simple\.proto, has no message 'com\.example\.Simple'; it has: com\.example\.SimpleTest \(option 'value\.",
        ),
        (
            {"proto_file": "{folder}/protos/shop/order.proto"},
            InvalidOptionError,
            r"order\.proto, is rejected by protoc: .*shop/money\.proto: File not found",
        ),
        (
            {"proto_file": "{folder}/latin.proto"},
            InvalidOptionError,
            r"is not a \.proto file: latin\.proto is not UTF-8",
        ),
    ],
)
def test_errors(folder: Path, options: dict[str, str], error: type[Exception], message: str) -> None:
    (folder / "latin.proto").write_bytes(b"\xff")
    named = {"message_class_name": "shop.Order", **options}
    values = {key: value.replace("{folder}", str(folder)) for key, value in named.items()}
    with pytest.raises(error, match=message):
        decode(pa.schema([("id", pa.string())]), b"", **values)


def test_files_are_utf8_in_any_locale() -> None:
    program = """
from kafka_sql.formats.protobuf.protoc import run_protoc
text = 'syntax = "proto2"; message A { optional string s = 1 [default = "\\u4e2d"]; }'
(file,) = run_protoc((("a.proto", text),), "a.proto")
print(ascii(file.message_type[0].field[0].default_value))
"""
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    path = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **ascii_locale, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.stdout, process.returncode) == ("'\\u4e2d'\n", 0), process.stderr[-2000:]


def test_imported_files_must_be_in_allowed_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "secret.proto").write_text(MONEY)
    (folder / "protos/shop/money.proto").unlink()
    (folder / "protos/shop/money.proto").symlink_to(folder / "secret.proto")
    monkeypatch.setenv(PATHS, str(folder / "protos"))
    with pytest.raises(InvalidOptionError, match=rf"not in the folders that {PATHS} allows"):
        decode(
            pa.schema([("id", pa.string())]),
            b"",
            proto_file=str(folder / "protos/shop/order.proto"),
            proto_path=str(folder / "protos"),
            message_class_name="shop.Order",
        )


def file(name: str, *messages: str, **options: Any) -> FileDescriptorProto:
    descriptor = FileDescriptorProto(name=name, package="p", options=options)
    for message in messages:
        outer, _, inner = message.partition(".")
        nested = descriptor.message_type.add(name=outer)
        if inner:
            nested.nested_type.add(name=inner)
    return descriptor


@pytest.mark.parametrize(
    ("descriptor", "java_class", "expected"),
    [
        (file("a/my_shop.proto", "M.N"), "p.MyShop$M", "p.M"),
        (file("a/my_shop.proto", "M.N"), "p.MyShop.M.N", "p.M.N"),
        (file("a/my_shop.proto", "M.N"), "p.MyShop$M$N", "p.M.N"),
        (file("m.proto", "M"), "p.MOuterClass$M", "p.M"),
        (file("x.proto", "O.X"), "p.XOuterClass$O$X", "p.O.X"),
        (file("v1beta.proto", "M"), "p.V1Beta$M", "p.M"),
        (file("m.proto", "M", java_outer_classname="Out", java_package="j"), "j.Out$M", "p.M"),
        (file("m.proto", "M", java_multiple_files=True, java_package="j"), "j.M", "p.M"),
        (file("m.proto", "M", java_multiple_files=True), "p.MOuterClass$M", None),
        (file("m.proto", "M"), "p.M", None),  # not a class: the full name, which is looked up first
    ],
)
def test_java_classes(descriptor: FileDescriptorProto, java_class: str, expected: str | None) -> None:
    assert find_by_java_class([descriptor], java_class) == expected
