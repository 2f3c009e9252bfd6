"""Test which table names are found in a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import TableReference, find_table_references
from kafka_sql.sql.rewrite.edits import Edit, apply_edits


def referenced_tables(sql: str) -> list[str]:
    return [".".join(r.name) for r in find_table_references(QueryText(sql))]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM a", ["a"]),
        ("select * from a where x in (1, 2)", ["a"]),
        ("SELECT * FROM c.db.`t``x y`", ["c.db.t`x y"]),
        ("SELECT * FROM a, b AS x, c y WHERE a.i = x.i", ["a", "b", "c"]),
        ("SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (x, y), d", ["a", "b", "c", "d"]),
        ("SELECT * FROM a CROSS JOIN b NATURAL JOIN c FULL JOIN d ON f(a.x, b.y)", ["a", "b", "c", "d"]),
        ("SELECT * FROM a JOIN b ON a.offset = b.offset, c", ["a", "b", "c"]),
        ("SELECT * FROM (SELECT * FROM a) x, (b JOIN c ON b.i = c.i), ((d))", ["a", "b", "c", "d"]),
        (
            "SELECT (SELECT max(x) FROM a), EXISTS (SELECT 1 FROM b) FROM c WHERE i IN (SELECT i FROM d)",
            ["a", "b", "c", "d"],
        ),
        ("SELECT * FROM a UNION ALL SELECT * FROM b EXCEPT (SELECT * FROM c)", ["a", "b", "c"]),
        ("SELECT * EXCEPT (x) FROM a", ["a"]),
        ("SELECT a.* EXCEPT (x, b.y), z FROM a JOIN b", ["a", "b"]),
        ("SELECT * EXCEPT (`from`, from, table, x) FROM a EXCEPT (SELECT * FROM b)", ["a", "b"]),
        ("SELECT * EXCEPT (table) FROM a", ["a"]),
        ("FROM a SELECT * EXCEPT (SELECT * FROM b)", ["a", "b"]),
        ("FROM a SELECT * EXCEPT SELECT * FROM b", ["a", "b"]),
        ("FROM a SELECT * EXCEPT ((TABLE b))", ["a", "b"]),
        ("TABLE a UNION DISTINCT TABLE b", ["a", "b"]),
        ("(TABLE a) MINUS (FROM b)", ["a", "b"]),
        ("FROM a SELECT x", ["a"]),
        ("FROM a |> WHERE x > 1 |> JOIN b USING (x) |> SELECT x, y |> AS z", ["a", "b"]),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a, c", ["b", "c"]),
        ("WITH a AS (SELECT * FROM A) SELECT * FROM a", ["A"]),
        (
            "WITH a(x, y) AS (SELECT * FROM b), c AS (SELECT * FROM a JOIN d) SELECT * FROM c JOIN A UNION TABLE c",
            ["b", "d"],
        ),
        ("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a JOIN b) SELECT * FROM a", ["b"]),
        ("WITH a AS (SELECT 1) SELECT * FROM db.a, `a`", ["db.a"]),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x JOIN a", ["a"]),
        ("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM a, b", ["b"]),
        ("SELECT EXTRACT(YEAR FROM ts), TRIM(BOTH 'x' FROM s), TRIM(FROM s), SUBSTRING(s FROM 1 FOR 2) FROM a", ["a"]),
        ("SELECT OVERLAY(s PLACING 'x' FROM 3), a IS DISTINCT FROM b, c IS NOT DISTINCT FROM d FROM e", ["e"]),
        ("SELECT * FROM range(10), explode(array(1, 2)) AS t(x), a", ["a"]),
        ("SELECT * FROM f(TABLE a, TABLE(b), x => TABLE(SELECT * FROM c))", ["a", "b", "c"]),
        ("SELECT * FROM VALUES (1, 2), (3, 4) AS v(x, y), a", ["a"]),
        ("SELECT * FROM VALUES 1, 2, 'x' v JOIN a", ["a"]),
        ("VALUES (1), (2)", []),
        ("SELECT * FROM a LATERAL VIEW explode(xs) t AS x, y WHERE x = 1", ["a"]),
        ("SELECT * FROM a LATERAL VIEW OUTER explode(xs) t AS x LATERAL VIEW explode(ys) u AS y", ["a"]),
        ("SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x), LATERAL explode(a.xs)", ["a", "b"]),
        ("SELECT * FROM a TABLESAMPLE (5 PERCENT) x, b", ["a", "b"]),
        ("SELECT * FROM a PIVOT (sum(x) FOR y IN (1, 2)) ORDER BY 1, 2", ["a"]),
        ("SELECT x, count(*) OVER w FROM a GROUP BY x, y HAVING x > 1 WINDOW w AS (PARTITION BY x), v AS (w)", ["a"]),
        ("SELECT * FROM a ORDER BY x, y LIMIT 3", ["a"]),
        ("SELECT table, stream, `from` FROM a", ["a"]),
        ("SELECT a.from, b FROM a", ["a"]),
        ("SELECT * FROM a /*+ OPTIONS('x' = 'FROM z') */ AS x, b /* , c */ -- , d\n", ["a", "b"]),
        ("SELECT 'FROM x', \"FROM y\", r'\\' FROM a", ["a"]),
        ("SELECT 'it\\'s FROM x' FROM a", ["a"]),
        ("SELECT /*+ BROADCAST(b) */ * FROM a JOIN b", ["a", "b"]),
        ("SELECT * FROM IDENTIFIER('a') JOIN b", ["b"]),
        ("INSERT INTO TABLE x SELECT * FROM a", ["a"]),
        ("CREATE VIEW v AS WITH q AS (SELECT * FROM a) SELECT * FROM q", ["a"]),
        ("EXPLAIN SELECT * FROM a", ["a"]),
        ("DELETE FROM a WHERE x = 1", []),
        ("SELECT * FROM a;", ["a"]),
        ("SELECT * FROM stream", ["stream"]),
        ("SELECT * FROM stream WHERE x = 1", ["stream"]),
        ("SELECT * FROM stream AS s", ["stream"]),
        ("SELECT * FROM", []),
        ("SELECT * FROM a)) FROM b", ["a"]),
        ("", []),
    ],
)
def test_referenced_tables(sql: str, tables: list[str]) -> None:
    assert referenced_tables(sql) == tables


@pytest.mark.parametrize(
    ("suffix", "is_stream", "has_alias", "has_watermark"),
    [
        ("orders", False, False, False),
        ("orders o", False, True, False),
        ("orders AS `o`", False, True, False),
        ("orders WHERE x = 1", False, False, False),
        ("orders LEFT JOIN x", False, False, False),
        ("orders WITH ('a' = 'b') o", False, True, False),
        ("orders TABLESAMPLE (5 ROWS) REPEATABLE (3) o", False, True, False),
        ("STREAM orders", True, False, False),
        ("stream orders AS o", True, True, False),
        ("STREAM(orders) o", True, True, False),
        ("STREAM ( db.orders )", True, False, False),
        ("STREAM orders WATERMARK ts DELAY OF INTERVAL 5 SECONDS", True, False, True),
        ("STREAM orders WATERMARK ts DELAY OF INTERVAL '5' SECOND AS o", True, True, True),
        (
            "STREAM orders WATERMARK to_timestamp(a, b) AS ts DELAY OF INTERVAL 5 minutes 3 seconds o JOIN x",
            True,
            True,
            True,
        ),
        ("orders WATERMARK ts DELAY OF INTERVAL '1:30' MINUTE TO SECOND WHERE x", False, False, True),
        ("orders watermark WHERE delay = 1", False, True, False),
        ("orders watermark", False, True, False),
    ],
)
def test_clauses_around_the_name(suffix: str, is_stream: bool, has_alias: bool, has_watermark: bool) -> None:
    first = find_table_references(QueryText(f"SELECT * FROM {suffix}"))[0]
    assert first.name[-1] == "orders"
    assert (first.is_stream, first.suffix.has_alias, first.suffix.has_watermark) == (
        is_stream,
        has_alias,
        has_watermark,
    )


@pytest.mark.parametrize(
    "text", ["orders", "db.`a b`", "STREAM orders", "STREAM ( db.orders )", "stream /* x */ db . orders"]
)
def test_position_includes_the_stream_keyword(text: str) -> None:
    sql = f"SELECT 'é' FROM {text} AS o"
    (reference,) = find_table_references(QueryText(sql))
    assert sql[reference.start : reference.end] == text


def test_apply_edits() -> None:
    sql = "SELECT * FROM a JOIN /* a */ b ON a.x = b.x"
    edits = [Edit(r.start, r.end, f"<{r.name[0]}>") for r in find_table_references(QueryText(sql))]
    assert apply_edits(sql, reversed(edits)) == "SELECT * FROM <a> JOIN /* a */ <b> ON a.x = b.x"
    assert apply_edits(sql, []) == sql


def test_all_fields_of_a_reference() -> None:
    assert find_table_references(QueryText("TABLE db.t")) == [
        TableReference(("db", "t"), 6, 10, alias_position=10, form="query")
    ]


@pytest.mark.parametrize(
    ("sql", "form", "alias_after"),
    [
        ("SELECT * FROM t TABLESAMPLE (5 ROWS) JOIN b", "from", "TABLESAMPLE (5 ROWS)"),
        ("SELECT * FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS", "from", "SECONDS"),
        ("SELECT 1 UNION TABLE t", "query", "TABLE t"),
        ("SELECT * FROM (TABLE t)", "query", "TABLE t"),
        ("SELECT 1 WHERE x IN (TABLE t)", "query", "TABLE t"),
        ("SELECT * FROM f(TABLE t, 1)", "argument", "TABLE t"),
        ("SELECT * FROM f(1, rows => TABLE t)", "argument", "TABLE t"),
        ("SELECT * FROM f(TABLE(t), 1)", "enclosed argument", "TABLE(t"),
        ("SELECT * FROM t", "from", "FROM t"),
    ],
)
def test_form_and_alias_position(sql: str, form: str, alias_after: str) -> None:
    reference = find_table_references(QueryText(sql))[0]
    assert reference.form == form
    assert reference.alias_position == sql.index(alias_after) + len(alias_after)
    if form == "query":
        assert sql[reference.form_start :].startswith("TABLE t")


# Generates queries together with the tables they reference, which serve as the expected result.
TABLES = st.sampled_from(["orders", "db.items", "`a b`", "STREAM clicks", "values_x"])


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> tuple[str, list[str]]:
    text, tables = "SELECT extract(DAY FROM x), f(a, b) FROM ", []
    for index in range(draw(st.integers(1, 3))):
        if index:
            text += draw(st.sampled_from([", ", " JOIN ", "\nLEFT JOIN "]))
        if depth and draw(st.booleans()):
            inner, inner_tables = draw(queries(depth=depth - 1))
            text += f"({inner}) AS s{index}"
            tables += inner_tables
        else:
            table = draw(TABLES)
            tables.append(table)
            text += table + draw(st.sampled_from(["", " AS t", " -- FROM x\n"]))
    if depth and draw(st.booleans()):
        inner, inner_tables = draw(queries(depth=depth - 1))
        text += f" WHERE x IN ({inner})"
        tables += inner_tables
    if depth and draw(st.booleans()):
        inner, inner_tables = draw(queries(depth=depth - 1))
        text += f" UNION ALL {inner}"
        tables += inner_tables
    return text, tables


@given(queries())
def test_finds_every_table_and_nothing_else(query: tuple[str, list[str]]) -> None:
    sql, tables = query
    assert [sql[r.start : r.end] for r in find_table_references(QueryText(sql))] == tables


@given(st.text(alphabet="() ,.;'`\"abFROMSELECTWITHJOIN\n-*/", max_size=60))
def test_never_raises(sql: str) -> None:
    for reference in find_table_references(QueryText(sql)):
        assert 0 <= reference.start < reference.end <= len(sql)
