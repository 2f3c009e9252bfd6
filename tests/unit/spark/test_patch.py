"""A patch replaces a function once, and only the function that it expects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.spark import patches
from kafka_sql.spark.patch import Function, Patch

FIRST = Patch("owner.greet", "greets twice", "it greets once", parameters=("name",))
SECOND = Patch("owner.greet", "shouts", "it speaks", parameters=("name",))


class Greeter:
    def greet(self, name: str) -> str:
        return f"hello {name}"


def twice(original: Function, *args: Any) -> str:
    return f"{original(*args)}, {original(*args)}"


def shout(original: Function, *args: Any) -> str:
    return str(original(*args)).upper()


@pytest.fixture
def owner() -> type[Greeter]:
    return type("Copy", (Greeter,), {})


def test_a_function_is_patched_once_by_each_patch(owner: type[Greeter]) -> None:
    original = owner.greet
    for patch, call in [(FIRST, twice), (SECOND, shout), (FIRST, twice), (SECOND, shout)]:
        patch.apply(call, owner)
    assert owner().greet("a") == "HELLO A, HELLO A"
    assert FIRST.original(owner.greet) is original


def test_an_instance_is_patched_even_if_its_class_is(owner: type[Greeter]) -> None:
    FIRST.apply(twice, owner)
    greeter = owner()
    FIRST.apply(twice, greeter)
    assert greeter.greet("a") == "hello a, hello a, hello a, hello a"
    assert owner().greet("a") == "hello a, hello a"


@pytest.mark.parametrize(
    ("patch", "owner"),
    [
        (Patch("owner.greet", "x", "it greets", parameters=("name", "language")), Greeter),
        (Patch("owner.wave", "x", "it greets", parameters=("name",)), Greeter),
        (Patch("pyspark.no_module.wave", "x", "it greets", parameters=("name",)), None),
    ],
)
def test_another_function_is_not_replaced(patch: Patch, owner: Any, caplog: pytest.LogCaptureFixture) -> None:
    patch.apply(twice, owner)
    assert Greeter().greet("a") == "hello a"
    parameters = ", ".join(patch.parameters)
    assert caplog.messages == [f"Spark has no function {patch.name}({parameters}): it greets."]


def test_stop_calls_a_function_before() -> None:
    calls: list[str] = []
    spark: Any = SimpleNamespace(stop=lambda: calls.append("stop"))
    patches.patch_stop(spark, lambda: calls.append("before"))
    spark.stop()
    assert calls == ["before", "stop"]
