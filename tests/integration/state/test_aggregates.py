"""Aggregate functions of ordered values and of deviations, with retraction, against Python's lists and statistics."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from kafka_sql import state
from tests.changelog_models import Change, Row, random_row
from tests.changelog_streams import run, write_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

Values = Sequence[Any]  # of a group, in the order of their arrival; without those that were retracted


def _by_order(choose: Callable[[Any], Any]) -> Callable[[Values], Any]:
    return lambda pairs: choose(pairs)[1] if pairs else None


# the function, its argument, whether it is DISTINCT, its type, its result for the values that are not NULL
_FUNCTIONS: list[tuple[str, str, bool, str, Callable[[Values], Any]]] = [
    ("first", "struct(s)", False, "string", lambda values: values[0][0] if values else None),
    ("last", "struct(s)", False, "string", lambda values: values[-1][0] if values else None),
    ("array", "IF(s IS NULL, NULL, struct(s))", False, "array<string>", lambda values: [v for (v,) in values]),
    (
        "listagg",
        "IF(s IS NULL, NULL, struct(s))",
        False,
        "string",
        lambda values: "|".join(v for (v,) in values) if values else None,
    ),
    ("array", "IF(s IS NULL, NULL, struct(s))", True, "array<string>", lambda values: [v for (v,) in values]),
    ("first", "struct(n)", False, "bigint", lambda values: values[0][0] if values else None),
    ("var_pop", "d", False, "double", lambda values: statistics.pvariance(values) if values else None),
    ("var_samp", "d", False, "double", lambda values: statistics.variance(values) if len(values) > 1 else None),
    ("stddev_pop", "d", True, "double", lambda values: statistics.pstdev(set(values)) if values else None),
    ("stddev_samp", "d", False, "double", lambda values: statistics.stdev(values) if len(values) > 1 else None),
    ("min_by", "IF(n IS NULL, NULL, struct(n, k))", False, "int", _by_order(lambda pairs: min(pairs))),
    ("max_by", "IF(n IS NULL, NULL, struct(n, k))", False, "int", _by_order(lambda pairs: max(pairs))),
]


def _aggregate(rows: DataFrame) -> DataFrame:
    arguments = [F.expr(argument).alias(f"a{i}") for i, (_, argument, *_) in enumerate(_FUNCTIONS)]
    calls = [
        state.AggregateCall(name, f"a{i}", is_distinct, f"r{i}", _type(rows, type), "|")
        for i, (name, _, is_distinct, type, _) in enumerate(_FUNCTIONS)
    ]
    return state.aggregate(rows.select("h", *arguments, "__row_kind", "ord"), ["h"], calls, "ord")


def _type(rows: DataFrame, type: str) -> Any:
    return rows.select(F.lit(None).cast(type).alias("x")).schema["x"].dataType


def _arguments(row: Row) -> list[Any]:
    """Return the argument of each function; None if the row does not count."""
    s, d, pair = row["s"], row["d"], None if row["n"] is None else (row["n"], row["k"])
    text = None if s is None else (s,)
    return [(s,), (s,), text, text, text, (row["n"],), d, d, d, d, pair, pair]


def _history(rng: random.Random, length: int) -> list[Change]:
    """Return changes of a table in which equal values are frequent, and groups disappear."""
    rows: list[Row] = []
    changes: list[Change] = []
    for i in range(length):
        if not rows or rng.random() < (0.7 if i < length / 2 else 0.35):
            rows.append({**random_row(rng, rng.randrange(4), rng.randrange(3)), "s": rng.choice([None, "a", "b", "c"])})
            changes.append(("+I", rows[-1]))
        else:
            changes.append(("-D", rows.pop(rng.randrange(len(rows)))))
    return changes + [("-D", row) for row in rows]


def _apply(values: list[list[Any]], value: Any, kind: str, is_distinct: bool) -> None:
    """Add a value, or remove the oldest of equal ones. With DISTINCT, a value stays until its last row is removed."""
    equal = next((pair for pair in values if pair[0] == value), None)
    if kind == "-D":
        assert equal is not None
        equal[1] -= 1
        if equal[1] == 0:
            values.remove(equal)
    elif equal is not None and is_distinct:
        equal[1] += 1
    else:
        values.append([value, 1])


def _rounded(groups: dict[int, tuple[Any, ...]]) -> dict[int, list[Any]]:
    return {h: [round(r, 12) if isinstance(r, float) else r for r in results] for h, results in groups.items()}


@pytest.mark.timeout(600)
def test_functions_retract_rows(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(11)
    changes = _history(rng, 240)
    batches = [changes[i : i + 60] for i in range(0, len(changes), 60)]
    output: list[list[tuple[Any, ...]]] = []
    for part in (batches[:2], batches[2:]):  # with a restart
        write_batches(spark, tmp_path, part, first=len(output))
        query = run(spark, tmp_path, _aggregate, tmp_path / "checkpoint", output)
    groups: dict[int, list[list[Any]]] = {}
    actual: dict[int, tuple[Any, ...]] = {}
    for number, batch in enumerate(batches):
        for kind, row in batch:
            group = groups.setdefault(row["h"], [[] for _ in range(len(_FUNCTIONS) + 1)])
            for i, argument in enumerate([*_arguments(row), ()]):
                if argument is not None:
                    _apply(group[i], argument, kind, is_distinct=i < len(_FUNCTIONS) and _FUNCTIONS[i][2])
        for h, *results, kind in output[number]:
            if kind in ("-U", "-D"):
                assert actual.pop(h) == tuple(results)
            else:
                actual[h] = tuple(results)
        expected = {
            h: tuple(
                function([value for value, _ in values])
                for (*_, function), values in zip(_FUNCTIONS, group[:-1], strict=True)
            )
            for h, group in groups.items()
            if group[-1]
        }
        assert _rounded(actual) == _rounded(expected), number
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == 0
