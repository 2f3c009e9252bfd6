"""The error tree: conditions, attributes, and copies that keep both."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_sql import errors
from kafka_sql.definition import validate_table
from kafka_sql.errors import DecodeError, KafkaSqlError, SqlSyntaxError
from kafka_sql.runtime.error_trailer import find_error
from kafka_sql.sql.declarations.create import parse_create


def _classes(base: type[KafkaSqlError] = KafkaSqlError) -> Iterator[type[KafkaSqlError]]:
    yield base
    for cls in base.__subclasses__():
        if cls is getattr(errors, cls.__name__, None):
            yield from _classes(cls)


CLASSES = sorted(set(_classes()), key=lambda cls: cls.__name__)


def _facts(cls: type[KafkaSqlError]) -> dict[str, Any]:
    """A value for each attribute."""
    numbers = {"line": 3, "column": 5} if cls is SqlSyntaxError else {}
    return {name: numbers.get(name, f"the {name}") for name in cls.facts}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
class TestEveryClass:
    def test_facts_are_attributes_of_the_same_names(self, cls: type[KafkaSqlError]) -> None:
        facts = _facts(cls)
        error = cls(**facts)
        assert {name: getattr(error, name) for name in facts} == facts

    def test_attributes_are_described(self, cls: type[KafkaSqlError]) -> None:
        lines = inspect.getsource(cls).splitlines()
        own = [name for name in cls.facts if name in vars(cls)]
        assert [name for name in own if not any(re.match(rf"    {name}: .* = .*  # ", line) for line in lines)] == []

    def test_attributes_are_documented(self, cls: type[KafkaSqlError]) -> None:
        page = (Path(errors.__file__).parent.parent / "docs" / "api.md").read_text()
        assert [name for name in cls.facts if f"`{name}`" not in page] == []

    def test_pickling_and_copying_keep_message_attributes_and_notes(self, cls: type[KafkaSqlError]) -> None:
        error = cls(**_facts(cls))
        error.__dict__["__notes__"] = ["at file.sql:3"]  # what add_note does, since Python 3.11
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(again) is cls
            assert (str(again), vars(again)) == (str(error), vars(error))

    def test_a_prefix_keeps_the_attributes(self, cls: type[KafkaSqlError]) -> None:
        error = cls(**_facts(cls))
        prefixed = error.with_prefix("ALTER TABLE t: ")
        assert str(prefixed) == f"[{cls.condition()}] ALTER TABLE t: {error.message}"
        assert vars(prefixed) == vars(error)
        assert str(pickle.loads(pickle.dumps(prefixed))) == str(prefixed)

    def test_an_error_that_arrived_as_text_has_all_attributes(self, cls: type[KafkaSqlError]) -> None:
        found = find_error(f"kafka_sql.errors.{cls.__name__}: [{cls.condition()}] orders[3]@17: no JSON")
        assert found is not None
        assert str(found[0]) == f"[{cls.condition()}] orders[3]@17: no JSON"
        assert set(vars(found[0])) == set(vars(cls(**_facts(cls))))


def test_every_error_is_raised_with_its_attributes() -> None:
    """The types of arguments are not checked, so their names are checked here."""
    known = {cls.__name__: {*cls.facts, "message"} for cls in CLASSES}
    unknown = []
    for path in Path(errors.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if name in known and isinstance(node, ast.Call):
                names = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
                if not names <= known[name] or (len(node.args) > 1 and name != "DecodeError"):
                    unknown.append(f"{path}:{node.lineno}")
    assert unknown == []


def test_an_unknown_attribute_is_rejected() -> None:
    with pytest.raises(TypeError, match="has no attributes"):
        errors.SchemaError("", topic="t")


def test_classes_of_users_may_have_other_annotations() -> None:
    class QuotaError(errors.BrokerError):
        limit: int  # without a default

    assert QuotaError("full", topic="t").topic == "t"


def test_a_condition_is_the_name_in_upper_case() -> None:
    assert errors.TopicNotFoundError.condition() == "TOPIC_NOT_FOUND"


def test_a_decode_error_gets_its_location() -> None:
    error = DecodeError(3, "a.b[2]", "expected BIGINT").with_location("orders[0]@17")
    assert str(error) == "[DECODE] orders[0]@17, field 'a.b[2]': expected BIGINT"
    assert (error.row, error.field, error.where) == (3, "a.b[2]", "orders[0]@17")


def test_errors_carry_the_facts_of_their_messages() -> None:
    with pytest.raises(errors.MissingOptionError) as option:
        validate_table(parse_create("CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'format' = 'raw')"))
    assert option.value.option == "properties.bootstrap.servers"
    with pytest.raises(errors.SchemaError) as column:
        parse_create("CREATE TABLE t (a INT, A INT) WITH ('connector' = 'kafka')")
    assert column.value.column == "A"


def test_alter_keeps_the_attributes_of_an_error() -> None:
    error = SqlSyntaxError("expected a type", line=2, column=7, marked="2 | a INTT").with_prefix("ALTER TABLE t: ")
    assert (error.line, error.column, error.marked) == (2, 7, "2 | a INTT")
    assert error.message == "ALTER TABLE t: expected a type"
