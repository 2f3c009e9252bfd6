"""Test that a rendered CREATE TABLE declares the same table, and that secrets are masked."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.declarations.render import render_create_table, render_masked
from kafka_sql.table.table import Table

TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
NAMES = st.text(alphabet="abcXYZ09_ `.é'\"\\-", min_size=1, max_size=8)
SIMPLE = st.sampled_from(
    ["INT", "decimal(10, 2)", "STRING", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "BYTES", "TIME(3)", "double precision"]
)


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda t: f"ARRAY<{t} NOT NULL>"),
        inner.map(lambda t: f"{t} MULTISET"),
        st.tuples(SIMPLE, inner).map(lambda kv: f"MAP<{kv[0]}, {kv[1]}>"),
        st.tuples(NAMES, inner, TEXTS).map(lambda f: f"ROW<{quote(f[0])} {f[1]} NOT NULL {quote_string(f[2])}, q INT>"),
        st.tuples(NAMES, inner).map(lambda f: f"ROW({quote(f[0])} {f[1]} /* c */)"),
    ),
    max_leaves=4,
)


@st.composite
def statements(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique_by=str.lower))
    elements = [f"{quote(names[0])} TIMESTAMP(3)"]
    physical = []
    metadata_keys = set(names)  # each key can have one column, and by default a column's name is its key
    for name in names[1:]:
        column_type = draw(st.sampled_from(("physical", "metadata", "computed")))
        if column_type == "computed":
            text = f"{quote(name)} AS COALESCE({quote_string(draw(TEXTS))}, 'x') -- why\n"
        else:
            text = f"{quote(name)} {draw(TYPES)}{draw(st.sampled_from(['', ' NOT NULL', ' NULL']))}"
        if column_type == "metadata":
            text += draw(st.sampled_from([" METADATA", " METADATA VIRTUAL"]))
            key = draw(TEXTS)
            if key not in metadata_keys:
                metadata_keys.add(key)
                text = text.replace("METADATA", f"METADATA FROM {quote_string(key)}")
        if column_type == "physical":
            physical.append(name)
        if draw(st.booleans()):
            text += f" COMMENT {quote_string(draw(TEXTS))}"
        elements.append(text)
    if draw(st.booleans()):
        watermark = quote(names[0])
        delay = draw(st.sampled_from(["", " - INTERVAL '5' SECOND"]))
        elements.append(f"WATERMARK FOR {watermark} AS {watermark}{delay}")
    with_key = draw(st.booleans())
    if physical and with_key:
        elements.append(f"CONSTRAINT x PRIMARY KEY ({', '.join(map(quote, physical))}) NOT ENFORCED")
    options = draw(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=3))
    create = draw(st.sampled_from(["CREATE TABLE", "create temporary table", "CREATE TABLE IF NOT EXISTS"]))
    comment = f" COMMENT {quote_string(draw(TEXTS))}" if draw(st.booleans()) else ""
    pairs = ", ".join(f"{quote_string(k)} = {quote_string(v)}" for k, v in options.items())
    table = ".".join(map(quote, draw(st.lists(NAMES, min_size=1, max_size=2))))
    return f"{create} {table} ({', '.join(elements)}){comment} WITH ({pairs})"


@given(statements())
def test_rendered_statement_declares_an_equal_table(sql: str) -> None:
    table = parse_create(sql)
    copy = parse_create(render_masked(table))
    assert copy == table
    assert list(copy.options.items()) == list(table.options.items())
    assert render_masked(copy) == render_masked(table)


def test_primary_key_columns_are_not_null_in_computed_columns() -> None:
    text = "CREATE TABLE t (a BIGINT{}, b AS a * 2, PRIMARY KEY (a) NOT ENFORCED) WITH ('k' = 'v')"
    table = parse_create(text.format(""))
    assert table == parse_create(text.format(" NOT NULL"))
    assert parse_create(render_masked(table)) == table


def test_rendered_text() -> None:
    table = parse_create(
        "create temporary table if not exists db.t (id int primary key not enforced comment 'it''s',"
        " t as id*2 comment 'x',"
        " ts timestamp(3) metadata from 'timestamp' virtual, topic string metadata, watermark for ts as ts)"
        r" comment 'c' with ('connector'='kafka', 'properties.ssl.keystore.password'='p', 'x'='a\''b')"
    )
    assert (
        render_masked(table)
        == r"""CREATE TEMPORARY TABLE IF NOT EXISTS `db`.`t` (
  `id` int NOT NULL COMMENT 'it''s',
  `t` AS id*2 COMMENT 'x',
  `ts` timestamp(3) METADATA FROM 'timestamp' VIRTUAL,
  `topic` string METADATA,
  WATERMARK FOR `ts` AS ts,
  PRIMARY KEY (`id`) NOT ENFORCED
) COMMENT 'c' WITH (
  'connector' = 'kafka',
  'properties.ssl.keystore.password' = '******',
  'x' = 'a\''b'
)"""
    )


def test_credentials_of_a_registry_are_masked() -> None:
    options = {
        "avro-confluent.url": "http://u:hunter2@a:1,https://u:hunter2@b",
        "avro-confluent.properties.request.header.Authorization": "Basic hunter2",
        "avro-confluent.properties.request.header.Accept-Language": "en",
        "properties.sasl.oauthbearer.extensions": "key=hunter2",
    }
    table = parse_create(
        "CREATE TABLE t (a INT) WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"
    )
    assert parse_create(render_masked(table)).options == {
        "avro-confluent.url": "http://******@a:1,https://******@b",
        "avro-confluent.properties.request.header.Authorization": "******",
        "avro-confluent.properties.request.header.Accept-Language": "en",
        "properties.sasl.oauthbearer.extensions": "******",
    }
    assert parse_create(render_create_table(table)) == table


def test_repr_omits_options() -> None:
    table = parse_create("CREATE TABLE t (a INT) WITH ('a.password' = 'hunter2')")
    assert isinstance(table, Table)
    assert "hunter2" not in repr(table)
    assert "hunter2" not in render_masked(table)
