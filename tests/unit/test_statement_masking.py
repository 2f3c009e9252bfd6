"""No secret is printed or written to the history."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.options.connector import DYNAMIC_OPTIONS, KAFKA_OPTIONS, UPSERT_OPTIONS
from kafka_sql.options.secrets import is_secret
from kafka_sql.statement_masking import mask_statement


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("SELECT 'a' = 'b'", "SELECT 'a' = '******'"),
        ("SELECT a = 'b' AND c.d = 'e'", "SELECT a = 'b' AND c.d = 'e'"),
        ("WITH ('format' = 'json', 'Key.Fields' = 'a', 'x' = 'true')",) * 2,
        ("SET 'execution.runtime-mode' = 'batch'", "SET 'execution.runtime-mode' = 'batch'"),
        ("SET spark.sql.shuffle.partitions = 20", "SET spark.sql.shuffle.partitions = 20"),
        ("WITH ('topic' = 'x', 'tpoic' = 'y')", "WITH ('topic' = 'x', 'tpoic' = '******')"),
        ("t /*+ OPTIONS('topic' = 'x') */ WHERE a = 'b'", "t /*+ OPTIONS('topic' = 'x') */ WHERE a = 'b'"),
        ("WITH ('topic' = 't', 'a.password' = 'x''y')", "WITH ('topic' = 't', 'a.password' = '******')"),
        (
            "'properties.sasl.jaas.config'='p required;' , 'b'='c'",
            "'properties.sasl.jaas.config'='******' , 'b'='******'",
        ),
        ("OPTIONS (password 'x', url \"y\")", "OPTIONS (******"),
        ('OPTIONS (`api.key` = "x\\"y")', "OPTIONS (******"),
        ("SET spark.hadoop.fs.s3a.secret.key = AK", "SET spark.hadoop.fs.s3a.secret.key = ******"),
        ("SET 'my.password' = 'x';", "SET 'my.password' = '******';"),
        ("SELECT 'a', 'b.token'  'c'", "SELECT 'a', '******"),
        ("SET spark.x.password = a b; SELECT 1", "SET spark.x.password = ******; SELECT 1"),
        ("'a.secret' = 'not closed\nand more", "'******"),
        ("'a.password' = -- prod\n 'hunter2', 'b' = 'c'", "'******"),
        ("'a.password' /* c */ = 'hunter2'", "'******"),
        ("'a.password' = /* x */ 'hunter2'", "'******"),
        (
            "'a.token' -- it's\n /***/ = /* * / ** */\n-- d\n'x'",
            "'******",
        ),
        ("a.token--c\n='x'", "******"),
        ("'a.password' = U&'b !0061 c' UESCAPE '!'", "'******"),
        ("('a.pasword' = u&'b c d', 'b' = 'c')", "('******"),
        ("SET a.password /* c */ = x", "SET a.password /* c */ = ******"),
        ("SET a.password = -- c\n x", "SET a.password = ******"),
        ("('r.url' = 'http://u:hunter2@h', 'a' = 'b')", "('r.url' = '******', 'a' = '******')"),
        ("('r.url' = 'http://u:it''s \"/@h', 'a' = 'b')", "('r.url' = '******', 'a' = '******')"),
        ("OPTIONS (url 'http://u:hunter2@h')", "OPTIONS (******"),
        ("SET x.url = http://u:hunter2/@h; SELECT 1", "SET x.url = ******; SELECT 1"),
        ("SELECT 'http://u:hunter2@h', 'http://h/a@b'", "SELECT 'http://******@h', 'http://******@b'"),
        ("'p.request.header.Cookie' = 'hunter2'", "'p.request.header.Cookie' = '******'"),
        ("'p.request.header.Accept' = 'json'", "'p.request.header.Accept' = '******'"),
    ],
)
def test_secrets_are_masked(statement: str, shown: str) -> None:
    assert mask_statement(statement) == shown


@given(st.text(), st.sampled_from(["'k.password'", '"K_PASSWORD"', "`a-secret`", "token"]))
def test_no_secret_remains_in_any_quoting(value: str, key: str) -> None:
    secret = f"hunter2{value}hunter2"
    for literal in (
        "'" + secret.replace("'", "''") + "'",
        '"' + secret.replace("\\", "\\\\").replace('"', '\\"') + '"',
    ):
        assert "hunter2" not in mask_statement(f"CREATE TABLE t (a INT) WITH ({key} = {literal}, 'topic' = 't')")


@pytest.mark.parametrize(
    "unit", ["'", '"', " ", "--\n", "/* */ ", "token/*", "token--c ", "token='''", "'token'='x'", "://", "a@"]
)
def test_long_texts_are_masked_in_linear_time(unit: str) -> None:
    start = time.process_time()
    mask_statement("token" + unit * (200_000 // len(unit)))
    assert time.process_time() - start < 10  # seconds; a tenth of that in fact


@pytest.mark.parametrize(
    "option",
    [
        "'properties.sasl.password' 'hunter2'",
        "'properties.sasl.password = 'hunter2'",
        "'properties.sasl.password' = hunter2'",
        "'properties.sasl.password' = ''hunter2'",
        "'properties.sasl.password' = 'hun'ter2'",
        "'properties.sasl.password' : 'hunter2'",
        "'properties.sasl.password' = 'x' 'hunter2'",
        "'properties.sasl.pasword' = 'hunter2'",
        "'properties.sasl.passwrod' = 'hunter2'",
        "'properties.sasl.pass'word' = 'hunter2'",
        "'value.avro-confluent.basic-auth.user-inf' = 'hunter2'",
        "'properties.bootstrap.servers' = 'u:hunter2@h:9092'",
        "'properties.bootstrap.serves' = 'u:hunter2@h:9092'",
        "'properties.sasl.password ' = 'a hunter2'",
        "'properties.sasl.password' S= 'a hunter2'",
        "'properties.sasl.oauthbearer.extension' = 'hunter2'",
        "'x-confluent.properties.reqest.header.Cookie' = 'hunter2'",
        "'x-confluent.properties.request.header Cookie' = 'hunter2'",
        "'x-confluent.properties' = 'a:b,basic.auth.user.info:u:hunter2'",
        "'properties.ssl.key.pm' ' '-----BEGIN PRIVATE KEY-----\nhunter2hunter2hunter2\n-----END PRIVATE KEY-----'",
    ],
)
def test_secrets_are_masked_in_statements_with_typos(option: str) -> None:
    masked = mask_statement(f"ALTER TABLE t SET ({option}, 'topic' = 'shown')")
    assert "ter2" not in masked
    assert masked.startswith("ALTER TABLE t SET ('")
    assert masked.endswith(("'topic' = 'shown')", "('******'"))


def test_keys_of_other_options_are_not_taken_for_misspelled_secrets() -> None:
    keys = [f"properties.{key}" for key in JAVA_PROPERTIES]
    keys += [option.key for option in (*KAFKA_OPTIONS, *UPSERT_OPTIONS, *DYNAMIC_OPTIONS)]
    keys += [f"value.{option.key}" for name in FORMATS for option in FORMATS[name].options]
    for key in keys:
        statement = f"ALTER TABLE t SET ('{key}' = 'x', 'topic' = 'y')"
        assert (mask_statement(statement) != statement) == is_secret(key), key


@pytest.mark.parametrize("count", [1, 50, 51, 5000])
@pytest.mark.parametrize("escape", ["''", "\\x"])
def test_secrets_with_many_escapes_are_masked(escape: str, count: int) -> None:
    masked = mask_statement(f"SET ('properties.sasl.password' = '{escape * count}hunter2', 'topic' = 'x')")
    assert "hunter2" not in masked
    assert masked in ("SET ('properties.sasl.password' = '******', 'topic' = 'x')", "SET ('******'")
