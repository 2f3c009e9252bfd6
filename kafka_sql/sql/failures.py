"""Our errors in Spark's wrapping: a task's exception reaches the driver as text inside one of Spark's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from kafka_sql import errors

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(kafka_sql|pyarrow|numpy|numba|confluent_kafka)\b")
_OURS = re.compile(r"^kafka_sql\.errors\.(\w+): \[\w+\] (.*)$", re.MULTILINE)


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raise what a statement failed of, instead of the wrapping; that stays as its cause.

    Only statements that run at once can be helped so: a SELECT fails later, in ``show()`` or ``collect()``, with the
    same words.
    """
    try:
        yield
    except PySparkException as e:
        missing = _MISSING.search(str(e))
        if missing:
            raise errors.WorkerPythonError(
                f"The Python that runs Spark's workers has no module '{missing[1]}'. Set PYSPARK_PYTHON to one that "
                f"has kafka_sql before the session starts (here: {sys.executable}); on a cluster, install it on every "
                "executor and name that Python in 'spark.pyspark.python'."
            ) from e
        found = _OURS.findall(str(e))
        kind = getattr(errors, found[-1][0], None) if found else None
        if kind is None:
            raise
        error = kind.__new__(kind)  # the attributes did not travel, the message did
        Exception.__init__(error, found[-1][1])
        raise error from e
