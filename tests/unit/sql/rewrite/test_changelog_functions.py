"""Test the calls of TO_CHANGELOG and FROM_CHANGELOG: their arguments, and the subqueries that they become."""

from __future__ import annotations

import re

import pytest

from kafka_sql.errors import KafkaSqlError, UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.changelog_functions import ChangelogFunction, read_mark, rewrite_changelog_functions
from kafka_sql.sql.rewrite.edits import apply_edits

_ALL = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}


def rewrite(sql: str) -> tuple[str, ChangelogFunction | None]:
    """Return a query without the condition and the mark, and the call that the mark describes."""
    text = apply_edits(sql, rewrite_changelog_functions(QueryText(sql), has_changes=True, streaming=True).edits)
    match = re.search(
        r" WHERE CAST\(raise_error.*?AS BOOLEAN\) AND '(.*)' IS NOT NULL\) AS `__changelog ([^`]*)`", text
    )
    assert match is not None, text
    assert match[1] == match[2]  # a checkpoint remembers conditions
    text = text.replace(match[0], " ...)").replace(f"nullif('{match[1]}', '{match[1]}')", "nullif(...)")
    return text, read_mark(f"__changelog {match[2]}")


@pytest.mark.parametrize(
    ("sql", "expected", "function"),
    [
        (
            "SELECT * FROM TO_CHANGELOG(input => TABLE t) AS x",
            "SELECT * FROM (SELECT * FROM (SELECT nullif(...) AS `op`, * FROM t ...)) AS x",
            ChangelogFunction("TO_CHANGELOG", "op", _ALL),
        ),
        (
            "SELECT * FROM TABLE(to_changelog(TABLE(a.t), DESCRIPTOR(d), MAP['INSERT,UPDATE_AFTER', 'f']))",
            "SELECT * FROM (SELECT * FROM (SELECT nullif(...) AS `d`, * FROM a.t ...))",
            ChangelogFunction("TO_CHANGELOG", "d", {"+I": "f", "+U": "f"}),
        ),
        (
            "SELECT a FROM FROM_CHANGELOG(op_mapping => MAP['c, r', 'INSERT'], input => TABLE t) WHERE a",
            "SELECT a FROM (SELECT * EXCEPT (`op`) FROM (SELECT * FROM t ...)) WHERE a",
            ChangelogFunction("FROM_CHANGELOG", "op", {"c": "+I", "r": "+I"}),
        ),
    ],
)
def test_calls(sql: str, expected: str, function: ChangelogFunction) -> None:
    assert rewrite(sql) == (expected, function)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("op => DESCRIPTOR(a)", "needs a table"),
        ("input => t", "TABLE and the name"),
        ("input => TABLE t, op => DESCRIPTOR(a, b)", "DESCRIPTOR with one column"),
        ("input => TABLE t, op_mapping => MAP[a, 'INSERT']", "a constant map"),
        ("input => TABLE t, op_mapping => MAP['X', 'c']", "is not a row kind"),
        ("input => TABLE t, op_mapping => MAP['INSERT, DELETE', 'a', 'DELETE', 'b']", "DELETE twice"),
        ("input => TABLE t, error_handling => 'SKIP'", "takes input"),
        ("input => TABLE t PARTITION BY id", "PARTITION BY is not supported"),
    ],
)
def test_calls_that_are_refused(arguments: str, message: str) -> None:
    with pytest.raises(KafkaSqlError, match=message):
        rewrite(f"SELECT * FROM TO_CHANGELOG({arguments})")


def test_updates_need_their_old_rows() -> None:
    with pytest.raises(KafkaSqlError, match="must include UPDATE_BEFORE"):
        rewrite("SELECT * FROM FROM_CHANGELOG(input => TABLE t, op_mapping => MAP['u', 'UPDATE_AFTER'])")


@pytest.mark.parametrize(("has_changes", "streaming"), [(True, False), (False, True)])
def test_queries_without_changes_are_refused(has_changes: bool, streaming: bool) -> None:
    query = QueryText("SELECT * FROM TO_CHANGELOG(input => TABLE t)")
    with pytest.raises(UnsupportedSqlError, match="only supported in a continuous INSERT INTO"):
        rewrite_changelog_functions(query, has_changes, streaming)
