"""Test the replacement of variables in statements."""

from __future__ import annotations

import pytest

from kafka_sql.cli.variables import expand
from kafka_sql.errors import StatementError


def test_variables() -> None:
    values = {"a": "1", "b": "<${a}>", "spark.x.y": "z"}
    text = "${a} ${hivevar:b} ${hiveconf:spark.x.y} ${none} ${env:a} ${system:a} $a {a}"
    assert expand(text, values.get) == "1 <1> z ${none} ${env:a} ${system:a} $a {a}"


def test_a_variable_that_contains_itself() -> None:
    with pytest.raises(StatementError, match="The value of variable 'b' refers to the variable itself"):
        expand("${b}", {"a": "${b}${b}", "b": "${a}"}.get)
