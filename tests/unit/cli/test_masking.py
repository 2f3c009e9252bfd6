"""No secret is echoed or written into the history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafka_sql.cli.masking import masked


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("SELECT 'a' = 'b'", "SELECT 'a' = 'b'"),
        ("WITH ('topic' = 't', 'a.password' = 'x''y')", "WITH ('topic' = 't', 'a.password' = '******')"),
        ("'properties.sasl.jaas.config'='p required;' , 'b'='c'", "'properties.sasl.jaas.config'='******' , 'b'='c'"),
        ("OPTIONS (password 'x', url \"y\")", "OPTIONS (password '******', url \"y\")"),
        ('OPTIONS (`api.key` = "x\\"y")', 'OPTIONS (`api.key` = "******")'),
        ("SET spark.hadoop.fs.s3a.secret.key = AK", "SET spark.hadoop.fs.s3a.secret.key = AK"),
        ("SET 'my.password' = 'x';", "SET 'my.password' = '******';"),
        ("SELECT 'a', 'b.token'  'c'", "SELECT 'a', 'b.token'  '******'"),
        ("SET spark.x.password = a b; SELECT 1", "SET spark.x.password = ******; SELECT 1"),
        ("'a.secret' = 'not closed\nand more", "'a.secret' = '******'"),
    ],
)
def test_masked(statement: str, shown: str) -> None:
    assert masked(statement) == shown


@given(some.text(), some.sampled_from(["'k.password'", '"K_PASSWORD"', "`a-secret`", "token"]))
def test_no_value_is_left_in_any_quoting(value: str, key: str) -> None:
    secret = f"hunter2{value}hunter2"
    for literal in (
        "'" + secret.replace("'", "''") + "'",
        '"' + secret.replace("\\", "\\\\").replace('"', '\\"') + '"',
    ):
        assert "hunter2" not in masked(f"CREATE TABLE t (a INT) WITH ({key} = {literal}, 'topic' = 't')")
