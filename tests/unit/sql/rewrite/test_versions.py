"""Test which views have versions, and the query that returns them."""

from __future__ import annotations

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.rewrite.versions import StreamMark, read_mark, stream_view_versions, view_versions

VIEW = """SELECT k, b, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, `b` ORDER BY ts DESC) AS rn FROM t)
    WHERE rn = 1"""


def test_versions_of_a_view() -> None:
    query = view_versions("v", VIEW, ["K", "b", "ts"], "o.ts")
    assert query == (
        "SELECT __column_0 AS `K`, __column_1 AS `b`, __column_2 AS `ts` FROM (SELECT `K` AS __column_0, "
        "`b` AS __column_1, `ts` AS __column_2, `ts` AS __valid_from, lead(`ts`) OVER (PARTITION BY `K`, `b` ORDER BY "
        f"`ts`) AS __version_end, true AS __is_version FROM (SELECT * FROM ({VIEW.replace('WHERE rn = 1', '')}) AS "
        "__rows(`K`, `b`, `ts`))) AS __versions WHERE "
        "__is_version AND __valid_from <= o.ts AND (__version_end IS NULL OR o.ts < __version_end)"
    )


@pytest.mark.parametrize(
    "view",
    [
        VIEW.replace(" AS rn", " rn"),
        VIEW.replace("rn FROM t)", "rn FROM t) AS r").replace("WHERE rn", "where r.rn"),
        VIEW.replace("SELECT k, b, ts FROM", "select r.k, r.`b`, r.ts, upper(v) AS v FROM").replace("t)", "t) r"),
        VIEW.replace("SELECT *,", "SELECT k, b, ts, a.v,").replace("FROM t)", "FROM t AS a JOIN s ON a.x = s.x)"),
        f"WITH t AS (SELECT * FROM s) {VIEW}",
    ],
)
def test_views_of_the_latest_rows(view: str) -> None:
    all_rows = view.lower().partition("where")[0]
    assert f"from ({all_rows}) as __rows(" in view_versions("v", view, ["k", "b", "ts", "v"], "o.ts").lower()


@pytest.mark.parametrize(
    "view",
    [
        "SELECT k, b, ts FROM t",
        VIEW.replace("rn = 1", "rn = 2"),
        VIEW.replace("rn = 1", "rn = 1 OR rn = 1"),
        VIEW.replace("rn = 1", "b > 1 AND rn = 1"),
        VIEW + " AND v > 1",
        VIEW + " LIMIT 1",
        VIEW.replace("DESC", "ASC"),
        VIEW.replace("DESC", ""),
        VIEW.replace("ts DESC", "ts DESC, k DESC"),
        VIEW.replace("`b`", "c"),
        VIEW.replace("`b`", "b + 1"),
        VIEW.replace("ORDER BY ts", "ORDER BY other"),
        VIEW.replace("SELECT k,", "SELECT lower(k) AS k,"),
        VIEW.replace("SELECT *,", "SELECT b AS k, k AS b, ts,"),
        VIEW.replace("t)", "t) AS r JOIN s ON r.k = s.k"),
        VIEW.replace("t)", "t), s"),
        VIEW.replace("t)", "t UNION ALL SELECT *, 1 FROM s)"),
        VIEW.replace("t)", "t) AS r (b, k, ts, rn)"),
        VIEW.replace("FROM (", "FROM (SELECT * FROM (").replace("t)", "t) WHERE v > 1)"),
        f"SELECT * FROM s UNION ALL {VIEW}",
        f"WITH r AS (SELECT 1) SELECT * FROM s UNION ALL {VIEW}",
    ],
)
def test_other_views_have_no_versions(view: str) -> None:
    with pytest.raises(UnsupportedSqlError, match="View 'v' is not a versioned table"):
        view_versions("v", view, ["k", "b", "ts"], "o.ts")


def test_the_mark_of_a_stream() -> None:
    assert read_mark("__versions") is None
    query = stream_view_versions("v", VIEW, ["K", "b", "ts"], ["o", '`time` of "day"'], lambda text: f"<{text}>")
    rows, _, mark = query.rpartition(" AS ")
    unranked = VIEW.replace("ROW_NUMBER() OVER (PARTITION BY k, `b` ORDER BY ts DESC) AS rn", "1 AS `rn`")
    assert rows == f"SELECT * FROM (SELECT * FROM (<{unranked.replace('WHERE rn = 1', '')}>) AS __rows(`K`, `b`, `ts`))"
    assert read_mark(mark[1:-1].replace("``", "`")) == StreamMark(["o", '`time` of "day"'], ["K", "b"], "ts")
