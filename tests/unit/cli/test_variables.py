"""Test the replacement of variables in statements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.cli.runner import expand, substitute
from kafka_sql.errors import StatementError


def test_variables() -> None:
    values = {"a": "1", "b": "<${a}>", "spark.x.y": "z"}
    text = "${a} ${hivevar:b} ${hiveconf:spark.x.y} ${none} ${env:a} ${system:a} $a {a}"
    assert expand(text, values.get) == "1 <1> z ${none} ${env:a} ${system:a} $a {a}"


def test_a_variable_that_contains_itself() -> None:
    with pytest.raises(StatementError, match="The value of variable 'b' refers to the variable itself"):
        expand("${b}", {"a": "${b}${b}", "b": "${a}"}.get)


@pytest.mark.parametrize(("enabled", "warnings"), [("true", 1), ("false", 0)])
def test_a_variable_that_is_not_defined(enabled: str, warnings: int) -> None:
    values = {"spark.sql.variable.substitute": enabled, "a": "1"}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: values.get(key, default)))
    messages: list[str] = []
    text = substitute(spark, "SET 'b' = '${a} ${hivevar:folder} ${env:a}'", messages.append)
    assert text.endswith(" ${hivevar:folder} ${env:a}'")
    expected = "Variable 'folder' is not defined. Define it with --hivevar folder=VALUE, or with SET folder = VALUE."
    assert messages == [expected] * warnings
