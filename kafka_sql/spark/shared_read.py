"""Run several streaming queries over one read of their source: each is executed over the rows of a micro-batch.

The plan of such a query is a path: its operators have one input, and the source is the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, output
from kafka_sql.spark.plan import WATERMARK


def read_source(queries: Sequence[DataFrame]) -> DataFrame:
    """Return the stream that queries read, with the columns that any of them uses."""
    catalyst = Catalyst(queries[0].sparkSession)
    leaf = _path(analyzed_plan(queries[0]))[-1]
    return catalyst.dataframe(catalyst.project([output(leaf)[i] for i in _used_columns(queries)], leaf))


def split_batch(queries: Sequence[DataFrame]) -> Callable[[DataFrame], list[DataFrame]]:
    """Return a function that returns the rows of each query for a micro-batch of ``read_source``."""
    columns = _used_columns(queries)
    paths = [_path(analyzed_plan(query)) for query in queries]
    return lambda batch: [_over_batch(batch, path, columns) for path in paths]


def _path(plan: Plan) -> list[Plan]:
    """Return the operators of a plan without branches, from the last one to the source."""
    path = [plan]
    while children := elements(path[-1].children()):
        (child,) = children
        path.append(child)
    return path


def _used_columns(queries: Sequence[DataFrame]) -> list[int]:
    """Return the positions of the source's columns that queries use."""
    used: set[int] = set()
    for query in queries:
        *operators, leaf = _path(analyzed_plan(query))
        needed = [operator.references() for operator in operators]
        needed += [operator.outputSet() for operator in operators[:1]]
        used |= {i for i, column in enumerate(output(leaf)) if any(columns.contains(column) for columns in needed)}
    return sorted(used)


def _over_batch(batch_rows: DataFrame, path: Sequence[Plan], columns: Sequence[int]) -> DataFrame:
    """Return the rows of a query for a micro-batch: its plan, with the micro-batch in place of the stream."""
    catalyst = Catalyst(batch_rows.sparkSession)
    batch = analyzed_plan(batch_rows)
    *operators, leaf = path
    source = output(leaf)
    names = [source[i] for i in columns]
    plan = catalyst.project([catalyst.alias(c, n) for c, n in zip(output(batch), names, strict=True)], batch)
    for operator in reversed(operators):
        if class_name(operator) != WATERMARK:  # it has no effect on the rows of a micro-batch
            plan = catalyst.with_inputs(operator, [plan])
    return catalyst.dataframe(plan)
