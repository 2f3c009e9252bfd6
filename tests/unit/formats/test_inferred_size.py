"""Test columns that are inferred from schemas whose types are used many times."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro_confluent.schema_inference import infer_columns as infer_avro
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.formats.inferred_types import MAX_SIZE
from kafka_sql.formats.json_confluent.schema_inference import infer_columns as infer_json
from kafka_sql.formats.protobuf.schema_inference import infer_columns as infer_protobuf
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema


def avro(levels: int) -> ColumnTypes:
    inner: object = "int"
    for level in range(levels):
        inner = {"type": "record", "name": f"R{level}", "fields": [{"name": "a", "type": inner},
                 {"name": "b", "type": f"R{level - 1}" if level else "int"}]}  # fmt: skip
    return infer_avro(RegisteredSchema(1, json.dumps(inner)))


def json_schema(levels: int) -> ColumnTypes:
    types = {f"R{k}": {"type": "object", "properties": {name: {"$ref": f"#/definitions/R{k - 1}"} for name in "ab"}}
             for k in range(levels)}  # fmt: skip
    definitions = {**types, "R-1": {"type": "integer"}}
    return infer_json(RegisteredSchema(1, json.dumps({**types[f"R{levels - 1}"], "definitions": definitions})))


def protobuf(levels: int) -> ColumnTypes:
    types = ["int32", *(f"R{k}" for k in range(levels))]
    messages = [f"message R{k} {{ {types[k]} a = 1; {types[k]} b = 2; }}" for k in range(levels)]
    file = compile_schema("\n".join(['syntax = "proto3";', *messages]))
    return infer_protobuf(file.message_types_by_name[f"R{levels - 1}"])


@pytest.mark.parametrize("infer", [avro, json_schema, protobuf])
def test_types_that_are_used_many_times(infer: Callable[[int], ColumnTypes]) -> None:
    """24 levels take as long as the limit allows, and not 2**24 steps."""
    [(name, declared), _] = infer(2)
    assert name == "a"
    assert declared.replace(" NOT NULL", "").replace("BIGINT", "INT") == "ROW<`a` INT, `b` INT>"
    assert len(infer(12)[0][1]) > 30_000
    for levels in (24, 60):
        with pytest.raises(SchemaError, match=f"have more than {MAX_SIZE:,} characters up to field 'a.a.a.*'"):
            infer(levels)


def test_long_names_count() -> None:
    name = "n" * 1000
    fields = [{"name": f"{name}{k}", "type": "int"} for k in range(400)]
    with pytest.raises(SchemaError, match=r"up to field 'n{97}\.\.\.'") as e:
        infer_avro(RegisteredSchema(1, json.dumps({"type": "record", "name": "R", "fields": fields})))
    assert len(str(e.value)) < 500


@pytest.mark.parametrize("infer", [json_schema, protobuf])
def test_chains_of_types(infer: Callable[[int], ColumnTypes]) -> None:
    with pytest.raises((ValueError, SchemaError), match=r"(nested|through) more than 100"):
        infer(300)


def test_a_chain_of_references() -> None:
    chain = {f"R{k}": {"$ref": f"#/definitions/R{k - 1}"} for k in range(1, 200)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/definitions/R199"}},
              "definitions": {"R0": {"type": "integer"}, **chain}}  # fmt: skip
    with pytest.raises(ValueError, match="through more than 100 other types"):
        infer_json(RegisteredSchema(1, json.dumps(schema)))
    schema["properties"] = {"a": {"$ref": "#/definitions/R99"}}
    assert infer_json(RegisteredSchema(1, json.dumps(schema))) == (("a", "BIGINT"),)
