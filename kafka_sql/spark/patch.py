"""Replace functions of PySpark, once each."""

from __future__ import annotations

import functools
import inspect
import logging
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_sql.spark.internal import PythonName

Function: TypeAlias = Callable[..., Any]

_LOG = logging.getLogger("kafka_sql.spark")


@dataclass(frozen=True)
class Patch(PythonName):
    """A function of PySpark that is replaced by one that calls it."""

    def apply(self, call: Function, owner: object = None) -> None:
        """Replace the function, unless this patch has replaced it before.

        If the function is missing or has other parameters, nothing is replaced, and a warning states the consequence.

        Args:
            call: is called in place of the function, with the function and its arguments.
            owner: the object whose attribute is replaced. Default: the class or module in the patch's name.
        """
        path, _, name = self.name.rpartition(".")
        try:
            owner = pkgutil.resolve_name(path) if owner is None else owner
            current = getattr(owner, name)
            if self._mark in vars(vars(owner).get(name, _Unpatched)):
                return
            parameters = [p for p in inspect.signature(current).parameters if p != "self"]
        except (ImportError, AttributeError):
            parameters = None
        if parameters is None or tuple(parameters[: len(self.parameters)]) != self.parameters:
            _LOG.warning("Spark has no function %s(%s): %s.", self.name, ", ".join(self.parameters), self.if_gone)
            return

        @functools.wraps(current)  # with the marks of other patches of the same function
        def replacement(*args: Any, **kwargs: Any) -> Any:
            return call(current, *args, **kwargs)

        setattr(replacement, self._mark, current)
        setattr(owner, name, replacement)

    def original(self, function: Function) -> Function:
        """Return a function without this patch, and without those above it."""
        original: Function = getattr(function, self._mark, function)
        return original

    @property
    def _mark(self) -> str:
        """The attribute of the replacement with the original; the same function may have several patches."""
        return f"_kafka_sql: {self.why}"


class _Unpatched: ...
