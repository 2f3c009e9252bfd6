"""Pass the attributes of errors to the driver where Spark passes on only their text.

An error of a task, a planner or a function for ``foreachBatch`` reaches the driver as a line of a stack trace, to which
the functions here add a line with the attributes as JSON:

    kafka_sql.errors.TopicNotFoundError: [TOPIC_NOT_FOUND] Topic 'orders' does not exist on localhost:9092.
    [attributes {"topic": "orders", "partition": null, ...}]

``formats/Failures.java`` writes the same lines.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from kafka_sql import errors
from kafka_sql.errors import DecodeError, KafkaSqlError

C = TypeVar("C", bound=type)

_ERROR: Final = re.compile(
    r"(?<![\w.])kafka_sql\.errors\.(?P<error>(?P<name>\w+): \[[A-Z_]+\] (?P<message>.*?))"
    r"(?:\n\[attributes (?P<attributes>\{.*\})\])?(?: SQLSTATE: \w{5})?$",
    re.MULTILINE,
)


class _WithAttributes(str):
    """A message to which the attributes were added."""


@contextmanager
def with_attributes(table: str | None = None) -> Iterator[None]:
    """Add the attributes to the text of an error that leaves this process.

    Args:
        table: the table that the errors are about, unless they name another one.
    """
    try:
        yield
    except KafkaSqlError as e:
        if not (e.args and isinstance(e.args[0], _WithAttributes)):  # of an inner function
            attributes = {name: value for name, value in vars(e).items() if name != "__notes__"}
            if "table" in attributes:
                attributes["table"] = attributes["table"] or table
            message = " ".join(e.message.splitlines())
            e.args = (_WithAttributes(f"{message}\n[attributes {json.dumps(attributes, default=str)}]"),)
        raise


def raises_attributes(cls: C) -> C:
    """Add the attributes to the text of the errors of a class's methods, which Spark calls in another process.

    The table is that of the attribute ``definition`` or ``_definition``, if the class has it.
    """
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _with_attributes(method))
    return cls


def _with_attributes(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with with_attributes(_table(self)):
            return function(self, *args, **kwargs)

    @functools.wraps(function)
    def iterate(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with with_attributes(_table(self)):
            yield from function(self, *args, **kwargs)

    return iterate if inspect.isgeneratorfunction(function) else call


def _table(instance: object) -> str | None:
    definition = getattr(instance, "definition", None) or getattr(instance, "_definition", None)
    return getattr(definition, "name", None)


def find_error(text: str) -> tuple[KafkaSqlError, int] | None:
    """Return the last error of this package in a text, and where it ends in the text."""
    matches = list(_ERROR.finditer(text))
    error_class = getattr(errors, matches[-1]["name"], None) if matches else None
    if error_class is None:
        return None
    # of a Python exception in another one, only the first has the attributes
    same = (m["attributes"] for m in reversed(matches) if m["error"] == matches[-1]["error"] and m["attributes"])
    attributes = _parse(next(same, "{}"))
    return _restore(error_class, matches[-1]["message"], attributes), matches[-1].end()


def _parse(text: str) -> dict[str, Any]:
    try:
        attributes = json.loads(text)
    except ValueError:  # Spark has cut a long text
        return {}
    return attributes if isinstance(attributes, dict) else {}


def _restore(error_class: type[KafkaSqlError], message: str, attributes: dict[str, Any]) -> KafkaSqlError:
    error = error_class(-1, None, message) if issubclass(error_class, DecodeError) else error_class(message)
    vars(error).update({name: attributes[name] for name in vars(error).keys() & attributes.keys()})
    return error.with_message(message)
