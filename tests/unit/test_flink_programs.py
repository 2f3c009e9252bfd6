"""Run Flink's test programs: the rows that are written, the content that is compared, and the list of outcomes."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.flink_programs import outcomes
from tests.flink_programs.content import actual_content, expected_content, render
from tests.flink_programs.last_rows import is_of_last_row, last_row
from tests.flink_programs.outcomes import OUTCOMES, read_outcomes, regressions, short_reason
from tests.flink_programs.programs import ProgramTable
from tests.flink_programs.run import DIFFERENT, EQUAL, FAILED, REFUSED, Outcome
from tests.flink_programs.tables import INSERT_ONLY, RETRACT, UPSERT, connector, write

INT = {"root": "INTEGER", "nullable": True, "children": []}
TEXT = {"root": "VARCHAR", "nullable": True, "children": []}
KEY = "PRIMARY KEY (k) NOT ENFORCED"


def table(kind: str, *schema: str, **step: Any) -> ProgramTable:
    row = {"root": "ROW", "nullable": True, "names": ["k", "v"], "children": [INT, TEXT]}
    rows = {"before": [], "after": []} if kind == "SOURCE" else {"changes": None, "rows": None}
    return ProgramTable({"kind": kind, "name": "t", "schema": schema, "options": {}, "type": row, **rows, **step})


class Record:
    """A record as a consumer returns it."""

    def __init__(self, value: Any, key: bytes | None = None) -> None:
        self._value, self._key = value, key

    def value(self) -> bytes | None:
        return None if self._value is None else json.dumps(self._value).encode()

    def key(self) -> bytes | None:
        return self._key


def test_keys_of_schemas() -> None:
    by_constraint = table("SOURCE", "k INT", "v STRING", "CONSTRAINT c PRIMARY KEY (`k`, v) NOT ENFORCED")
    by_column = table("SOURCE", "`k` INT NOT NULL PRIMARY KEY NOT ENFORCED", "v STRING")
    assert (by_constraint.key, by_column.key) == (["k", "v"], ["k"])
    assert by_constraint.schema_without_key() == ["k INT", "v STRING"]
    assert by_column.schema_without_key() == ["`k` INT NOT NULL", "v STRING"]


@pytest.mark.parametrize(
    ("declared", "stored"),
    [
        (table("SOURCE"), INSERT_ONLY),
        (table("SOURCE", KEY), INSERT_ONLY),
        (table("SOURCE", KEY, options={"changelog-mode": "I,UA,D"}), UPSERT),
        (table("SOURCE", options={"changelog-mode": "I,UA,D"}), RETRACT),
        (table("SOURCE", KEY, options={"changelog-mode": "I,UB,UA,D"}), RETRACT),
        (table("SOURCE", KEY, before=[("+I", {}), ("-D", {})]), RETRACT),
        (table("SINK", changes=["+I[1, a]"]), INSERT_ONLY),
        (table("SINK", changes=["+I[1, a]", "-D[1, a]"]), RETRACT),
        (table("SINK", KEY, changes=["+I[1, a]", "+U[1, b]"]), UPSERT),
        (table("SINK", KEY, changes=["+I[1, a]", "-U[1, a]", "+U[1, b]"]), RETRACT),
    ],
)
def test_how_tables_are_stored(declared: ProgramTable, stored: str) -> None:
    assert connector(declared) == stored


def test_the_halves_of_an_update_are_one_record() -> None:
    written: list[Any] = []

    class Topics:
        def produce(self, topic: str, *values: bytes, **_: Any) -> None:
            written.extend(map(json.loads, values))

    a, b = {"k": 1, "v": "a"}, {"k": 1, "v": "b"}
    write(Topics(), "topic", RETRACT, [], [("+I", a), ("-U", a), ("+U", b), ("-D", b), ("-U", a)])  # type: ignore[arg-type]
    assert [(r["op"], r["before"], r["after"]) for r in written] == [
        ("c", None, a),
        ("u", a, b),
        ("d", b, None),
        ("d", a, None),
    ]


def test_content_of_a_sink() -> None:
    upserts = table("SINK", KEY, changes=["+I[1, a]", "+I[2, b]", "+U[1, c]", "-D[2, null]"])
    assert expected_content(upserts) == Counter(["[1, c]"])
    records = [Record({"k": 1, "v": "a"}, b"1"), Record({"k": 2, "v": "b"}, b"2"), Record(None, b"2")]
    assert actual_content(upserts, records) == Counter(["[1, a]"])
    retractions = table("SINK", changes=["+I[1, a]", "+I[1, a]", "-D[1, a]"])
    assert expected_content(retractions) == Counter(["[1, a]"])
    change = {"before": {"k": 1, "v": "a"}, "after": {"k": 1, "v": None}, "op": "u"}
    assert +actual_content(
        retractions, [Record({**change, "before": None, "after": {"k": 1, "v": "a"}}), Record(change)]
    ) == {"[1, null]": 1}
    assert expected_content(table("SINK", changes=["+I[1, a]"], rows=["+I[2, b]"])) == Counter(["[2, b]"])


@pytest.mark.parametrize(
    ("root", "value", "text"),
    [
        ("TIMESTAMP_WITHOUT_TIME_ZONE", "2026-01-02 03:04:00", "2026-01-02T03:04"),
        ("TIMESTAMP_WITHOUT_TIME_ZONE", "2026-01-02 03:04:05.120", "2026-01-02T03:04:05.120"),
        ("TIMESTAMP_WITHOUT_TIME_ZONE", "2026-01-02 03:04:00.1", "2026-01-02T03:04:00.100"),
        ("TIMESTAMP_WITH_LOCAL_TIME_ZONE", "2026-01-02 03:04:00Z", "2026-01-02T03:04:00Z"),
        ("TIME_WITHOUT_TIME_ZONE", "03:04:00", "03:04"),
        ("BOOLEAN", True, "true"),
        ("VARBINARY", "AP8=", "[0, -1]"),
        ("DOUBLE", "2", "2.0"),
        ("BIGINT", None, "null"),
        ("DECIMAL", "21", "21.00"),
    ],
)
def test_values_are_rendered_as_in_java(root: str, value: Any, text: str) -> None:
    assert render(value, {"root": root, "nullable": True, "children": [], "scale": 2}) == text


def test_the_last_row_has_a_time_and_passes_filters() -> None:
    rows = [("+I", {"k": 1, "v": "2026-01-01 00:00:00"})]
    type = {"root": "ROW", "nullable": True, "names": ["k", "v", "s"], "children": [INT, TEXT, TEXT]}
    columns = "k INT", "v STRING", "s STRING", "t AS TO_TIMESTAMP(v)", "WATERMARK FOR t AS t"
    timed = table("SOURCE", *columns, before=rows, type=type)
    assert last_row(timed) == {"k": -99, "v": "2999-01-01 00:00:00", "s": "~last~"}
    assert last_row(table("SOURCE", "k INT", "v STRING")) is None
    assert is_of_last_row("[null, 2999-01-01T00:00]")
    assert is_of_last_row("[~last~, 1]")


def test_regressions() -> None:
    known = {"a": Outcome("a", EQUAL), "b": Outcome("b", REFUSED, "why"), "c": Outcome("c", DIFFERENT, "known")}
    better = [Outcome("a", EQUAL), Outcome("b", EQUAL), Outcome("c", REFUSED, "x")]
    assert not regressions(better, known)
    worse = [
        Outcome("a", REFUSED, "x"),
        Outcome("b", DIFFERENT, "rows"),
        Outcome("c", DIFFERENT),
        Outcome("d", FAILED, "y"),
    ]
    assert regressions(worse, known) == ["a: refused: x", "b: different: rows", "d: failed: y"]


def test_reasons_have_no_text_of_a_program() -> None:
    spark = Outcome("a", REFUSED, "[PARSE_SYNTAX_ERROR] Spark cannot parse the statement. == SQL == SELECT a")
    own = Outcome(
        "a", REFUSED, "[UNSUPPORTED_SQL] INSERT INTO 'program_3.s': joins over changes are not supported. Write"
    )
    assert short_reason(spark) == "PARSE_SYNTAX_ERROR"
    assert short_reason(own) == "joins over changes are not supported"
    assert short_reason(Outcome("a", DIFFERENT, "only Flink: [1]")) == ""


def test_the_list_of_outcomes() -> None:
    lines = Path(outcomes.__file__).with_name("outcomes.txt").read_text().splitlines()
    assert lines == sorted(set(lines))
    for outcome in read_outcomes().values():
        assert outcome.outcome in OUTCOMES
        assert (outcome.outcome == EQUAL) == (not outcome.reason), f"{outcome.program}: a reason, unless it is equal"
        assert not re.search(r"\b(SELECT|FROM|INSERT INTO)\b.*\w", outcome.reason), outcome.program
