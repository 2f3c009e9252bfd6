"""Our errors in Spark's wrapping: a task's exception reaches the driver as text inside one of Spark's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from kafka_sql import errors

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
        found = _OURS.findall(str(e))
        kind = getattr(errors, found[-1][0], None) if found else None
        if kind is None:
            raise
        error = kind.__new__(kind)  # the attributes did not travel, the message did
        Exception.__init__(error, found[-1][1])
        raise error from e
