"""The expected outcomes of programs, in ``outcomes.txt``: a line per program, with a reason unless it is equal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.flink_programs.run import DIFFERENT, EQUAL, FAILED, NOT_APPLICABLE, REFUSED, Outcome

OUTCOMES: Final = (EQUAL, DIFFERENT, REFUSED, FAILED, NOT_APPLICABLE)
_FILE: Final = Path(__file__).with_name("outcomes.txt")
_CONDITION: Final = re.compile(r"\[(\w+)[\w.]*\] ")
_LONGEST: Final = 160  # characters of a reason in the list


def read_outcomes() -> dict[str, Outcome]:
    """Return the expected outcomes by class and name of the program."""
    outcomes = {}
    for line in _FILE.read_text().splitlines():
        program, outcome, *reason = line.split(" | ")
        outcomes[program] = Outcome(program, outcome, *reason)
    return outcomes


def write_outcomes(outcomes: Iterable[Outcome]) -> None:
    """Update the file. Reasons of programs whose outcomes are the same are kept: a person may have written them."""
    known = read_outcomes()
    for new in outcomes:
        old = known.get(new.program)
        if old is None or old.outcome != new.outcome:
            known[new.program] = Outcome(new.program, new.outcome, short_reason(new))
    lines = (" | ".join(filter(None, (o.program, o.outcome, o.reason))) for o in known.values())
    _FILE.write_text("".join(f"{line}\n" for line in sorted(lines)))


def short_reason(outcome: Outcome) -> str:
    """Return a reason without text of the program: it is Flink's, and is not copied into this repository."""
    if outcome.outcome == NOT_APPLICABLE:
        return outcome.reason
    if outcome.outcome not in (REFUSED, FAILED):
        return ""  # for a person to write
    condition = _CONDITION.match(outcome.reason)
    if condition is None or condition[1] != "UNSUPPORTED_SQL":  # errors of Spark quote the statement or its plan
        return condition[1] if condition else outcome.reason.partition(" ")[0]
    message = re.sub(r"^INSERT INTO '[^']*': |'?program_\d+\.\w+'? ?", "", outcome.reason[condition.end() :])
    return re.split(r"\. |; |, which ", message)[0][:_LONGEST].replace("|", "/").rstrip(".")


def regressions(outcomes: Iterable[Outcome], known: dict[str, Outcome]) -> list[str]:
    """Return the programs that were equal and are not any more, or that are different or fail and did not."""
    found = []
    for new in outcomes:
        old = known.get(new.program)
        is_worse = old is not None and old.outcome == EQUAL != new.outcome
        if is_worse or (new.outcome in (DIFFERENT, FAILED) and (old is None or old.outcome != new.outcome)):
            found.append(f"{new.program}: {new.outcome}: {new.reason}")
    return found
