"""Flink's own test programs: those that were equal still are, and no other one is silently different."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flink_programs.outcomes import read_outcomes, regressions
from tests.flink_programs.programs import Program, read_programs
from tests.flink_programs.run import EQUAL, inapplicable_reason, run_programs
from tests.topics import Topics

# hundreds of continuous queries; Flink's jars are 49 MB
pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(14400)]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return read_programs()


@pytest.mark.parametrize("class_name", sorted({name.split()[0] for name in read_outcomes()}))
def test_no_program_got_worse(class_name: str, programs: list[Program], spark: Any, topics: Topics) -> None:
    of_class = [p for p in programs if p.class_name == class_name and not inapplicable_reason(p)]
    assert not regressions(run_programs(spark, topics, of_class), read_outcomes())


def test_all_equal_programs_exist(programs: list[Program]) -> None:
    equal = {outcome.program for outcome in read_outcomes().values() if outcome.outcome == EQUAL}
    assert equal <= {str(program) for program in programs}
