"""Use an accumulator in the tasks of a Python data source. Readers import this module."""

from __future__ import annotations

from typing import Final, TypeVar

from pyspark.accumulators import Accumulator, AccumulatorParam, _deserialize_accumulator

from kafka_sql.spark.internal import Internal, PythonName

_T = TypeVar("_T")

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName(
        "pyspark.accumulators._deserialize_accumulator",
        "readers of a data source count records, and Spark passes them no accumulator",
        "tasks fail with an ImportError",
        parameters=("aid", "zero_value", "accum_param"),
    ),
)


def task_accumulator(accumulator_id: int, zero: _T, parameter: AccumulatorParam[_T]) -> Accumulator[_T]:
    """Return a task's instance of an accumulator, the same one for each call."""
    accumulator: Accumulator[_T] = _deserialize_accumulator(accumulator_id, zero, parameter)
    return accumulator
