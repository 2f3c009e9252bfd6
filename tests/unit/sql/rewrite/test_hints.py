import pytest

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, SqlSyntaxError, UnsupportedSqlError
from kafka_sql.sql.rewrite.hints import check_hint_positions, parse_hint
from kafka_sql.sql.rewrite.qualifiers import shorten_qualifiers
from kafka_sql.sql.rewrite.table_references import apply_edits

HEAD = "SELECT * FROM t"


@pytest.mark.parametrize(
    ("text", "options", "ends"),
    [
        (" /*+ OPTIONS('a' = 'b') */ AS x", {"a": "b"}, "*/"),
        ("/*+options('a.b'='it''s */',\n'c'='')*/", {"a.b": "it's */", "c": ""}, "*/"),
        (" /* c */ -- c\n /*+ OPTIONS() */", {}, "*/"),
    ],
)
def test_options(text: str, options: dict[str, str], ends: str) -> None:
    hint = parse_hint(HEAD + text, len(HEAD))
    assert hint is not None
    assert hint.options == options
    assert (HEAD + text)[hint.start :].startswith("/*+")
    assert (HEAD + text)[: hint.end].endswith(ends)
    assert "it's" not in repr(hint)


@pytest.mark.parametrize(
    "text", ["", " AS x", " /* OPTIONS('a' = 'b') */", " -- /*+ OPTIONS('a' = 'b') */", " x /*+ y */"]
)
def test_no_hint(text: str) -> None:
    assert parse_hint(HEAD + text, len(HEAD)) is None


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (" /*+ STATE_TTL('a' = '1d') */", UnsupportedSqlError, "Hint STATE_TTL"),
        (" /*+ OPTIONS */", SqlSyntaxError, r"expected '\(' after OPTIONS"),
        (" /*+ OPTIONS(a = 'b') */", SqlSyntaxError, "expected 'key' = 'value'"),
        (" /*+ OPTIONS('a' 'b') */", SqlSyntaxError, "expected 'key' = 'value'"),
        (" /*+ OPTIONS('a' = b) */", SqlSyntaxError, "option's value in single quotes"),
        (" /*+ OPTIONS('a' = 'b' 'c' = 'd') */", SqlSyntaxError, r"expected ',' or '\)'"),
        (" /*+ OPTIONS('a' = 'b'", SqlSyntaxError, r"expected ',' or '\)'"),
        (" /*+ OPTIONS('a' = 'b') x */", SqlSyntaxError, r"expected '\*/'"),
        (" /*+ OPTIONS('a' = 'b', 'a' = 'c') */", ConflictingOptionsError, "more than once"),
        (" /*+ OPTIONS('connector' = 'b') */", InvalidOptionError, "cannot be changed"),
    ],
)
def test_bad_hints(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        parse_hint(HEAD + text, len(HEAD))


def test_a_hint_elsewhere_is_not_lost() -> None:
    sql = "SELECT /*+ BROADCAST(t) */ '/*+ OPTIONS(x) */' FROM t /*+ OPTIONS('a' = 'b') */ -- /*+ OPTIONS() */"
    hint = parse_hint(sql, sql.index("FROM t") + 6)
    assert hint is not None
    check_hint_positions(sql, [hint])
    with pytest.raises(UnsupportedSqlError, match="line 1: it must stand directly behind the name"):
        check_hint_positions(sql, [])


@pytest.mark.parametrize(
    ("sql", "edited"),
    [
        ("SELECT db.t.a, t.a, x.db.t FROM [db.t]", "SELECT `t`.a, t.a, x.db.t FROM [db.t]"),
        ("SELECT DB . `T` . * FROM [db.t]", "SELECT `t` . * FROM [db.t]"),
        ("SELECT spark_catalog.db.t.a.b FROM [db.t]", "SELECT `t`.a.b FROM [db.t]"),
        ("SELECT 'db.t.a', db.t(1), db.tt.a /* db.t.a */ FROM [db.t]", None),
    ],
)
def test_qualifiers(sql: str, edited: str | None) -> None:
    start, stop = sql.index("["), sql.index("]") - 1
    plain = sql.replace("[", "").replace("]", "")
    names = {("db", "t"): "t", ("spark_catalog", "db", "t"): "t"}
    expected = (edited or sql).replace("[", "").replace("]", "")
    assert apply_edits(plain, shorten_qualifiers(plain, names, [(start, stop)])) == expected
