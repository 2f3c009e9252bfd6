"""Parts of the benchmark that ``make bench-quick`` skips."""

from __future__ import annotations

import pytest

from benchmarks.floor import measure_floor
from benchmarks.orders import Topic
from tests.topics import Topics

pytestmark = pytest.mark.integration


def test_the_floor(topics: Topics) -> None:
    name = topics.create()
    topics.produce(name, *(b"%d" % n for n in range(1000)))
    # raises an error if the results of both differ
    measured = list(measure_floor(Topic(name, "raw", 1000, 1, topics.bootstrap), runs=1))
    assert [(result.records, len(result.values)) for result in measured] == [(1000, 1)] * 2
