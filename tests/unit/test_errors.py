"""The error tree: conditions, attributes, and copies that keep both."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
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
    """An argument for each parameter besides the message."""
    numbers = {"line": 3, "column": 5} if cls is SqlSyntaxError else {}
    names = [name for name in inspect.signature(cls).parameters if name != "message"]
    return {name: numbers.get(name, f"the {name}") for name in names}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
class TestEveryClass:
    def test_facts_are_attributes_of_the_same_names(self, cls: type[KafkaSqlError]) -> None:
        facts = _facts(cls)
        error = cls(**facts)
        assert {name: getattr(error, name) for name in facts} == facts

    def test_attributes_are_documented(self, cls: type[KafkaSqlError]) -> None:
        documented = "\n".join(base.__doc__ or "" for base in cls.__mro__ if issubclass(base, KafkaSqlError))
        assert [name for name in vars(cls(**_facts(cls))) if f" {name}" not in documented] == []

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

    def test_it_is_in_the_tree_of_the_module_docstring(self, cls: type[KafkaSqlError]) -> None:
        assert cls.__name__ in (errors.__doc__ or "")


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
    error = SqlSyntaxError("expected a type", 2, 7, "2 | a INTT").with_prefix("ALTER TABLE t: ")
    assert (error.line, error.column, error.marked) == (2, 7, "2 | a INTT")
    assert error.message == "ALTER TABLE t: expected a type"
