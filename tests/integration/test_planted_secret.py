"""A password in WITH never appears in output, plans, logs, the event log, checkpoints or other files of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]  # starts a Spark that logs everything

SECRET = "planted-4711"

PROGRAM = """
import contextlib, sys, traceback, urllib.request
from pathlib import Path
import kafka_sql
from pyspark.sql import SparkSession

folder, options, bootstrap, source, target = sys.argv[1:]
secret = open(folder + "/secret").read()
jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{secret}";'
options = options.replace("WITH (", f"WITH ('properties.sasl.password' = '{secret}', "
                                    f"'properties.sasl.jaas.config' = '{jaas}', "
                                    f"'properties.ssl.truststore.password' = '{secret}', "
                                    f"'properties.sasl.oauthbearer.extensions' = 'key={secret}', "
                                    f"'properties.sasl.oauthbearer.token.endpoint.url' = 'http://u:{secret}@h/token', "
                                    f"'properties.ssl.keystore.password' = '{secret}', "
                                    f"'properties.sasl.oauthbearer.client.credentials.client.secret' = '{secret}', "
                                    "'properties.ssl.key.password' = '${file:%s/secrets.properties:key}', " % folder)
spark = kafka_sql.enable(
    SparkSession.builder.master("local[2]")
    .config("spark.ui.port", "0")
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", "file:" + folder + "/events")
    .config("spark.sql.warehouse.dir", folder + "/warehouse")
    .config("spark.sql.planChangeLog.level", "info")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("INFO")


def expect_error(statement):
    try:
        spark.sql(statement).collect()
    except Exception:
        traceback.print_exc(file=sys.stdout)
    else:
        raise AssertionError(statement.replace(secret, "***"))


spark.sql(f"CREATE TABLE orders (a INT, b AS a + 1) {options}")
spark.sql(f"CREATE TEMPORARY TABLE temporary_orders (a INT) {options}".replace(source, target))
header = f"'avro-confluent.properties.request.header.Authorization' = 'Basic {secret}'"
url = f"'avro-confluent.url' = 'http://u:{secret}@127.0.0.1:1'"
registry = options.replace("'json'", f"'avro-confluent', {header}, {url}")
spark.sql(f"CREATE TABLE registered (a INT) {registry}")
spark.sql("INSERT INTO orders VALUES (1)")
for statement in (
    "SELECT * FROM orders",
    "SELECT * FROM temporary_orders",
    "EXPLAIN EXTENDED SELECT * FROM orders",
    "EXPLAIN FORMATTED SELECT count(*) FROM temporary_orders",
    "SHOW CREATE TABLE orders",
    "SHOW CREATE TABLE registered",
    "EXPLAIN EXTENDED SELECT * FROM registered",
    "SHOW CREATE TABLE orders__kafka",
    "DESCRIBE orders",
    "DESCRIBE EXTENDED orders",
    "DESCRIBE EXTENDED orders__kafka",
    "SHOW TABLE EXTENDED LIKE '*'",
    "SHOW TBLPROPERTIES orders__kafka",
):
    for row in spark.sql(statement).collect():
        print(*row)
frame = spark.sql("SELECT * FROM orders")
print(frame, frame._jdf.queryExecution().toString(), spark.__dict__)
expect_error(f"CREATE TABLE orders (a INT) {options}")
expect_error(f"CREATE TABLE wrong (a INT) {options.replace('json', 'jsno')}")
expect_error(f"CREATE TABLE wrong (a INT) {options.replace('topic', 'topics')}")
expect_error(f"CREATE TABLE wrong (a INTT) {options}")
expect_error(f"CREATE TABLE wrong (a INT,, b INT) {options}")
expect_error(f"CREATE TABLE wrong (a INT) {options[:-1]}")
expect_error(f"CREATE TABLE wrong (a INT) WITH ('properties.sasl.password' = '{secret}")
expect_error(f"CREATE TABLE wrong (a INT) WITH ('properties.sasl.password' = '{secret}' 'x' = 'y')")
password = f"'properties.sasl.password' = '{secret}'"
expect_error(f"CREATE TABLE wrong (a INT) WITH ({password}, 'properties.sasl.password' = 'x')")
misspelled = options.replace("WITH (", f"WITH ('properties.sasl.jaas.confi' = '{jaas}', ")
expect_error(f"CREATE TABLE wrong (a INT) {misspelled}")
for broken in (jaas[:-1], jaas[:-2], jaas.replace("required", secret), jaas.replace("PlainLogin", "OwnLogin")):
    expect_error(f"CREATE TABLE wrong (a INT) {options.replace(jaas, broken)}")
text = f"WITH ('properties.ssl.truststore.certificates' = '-----BEGIN {secret}', "
expect_error(f"CREATE TABLE wrong (a INT) {options.replace('WITH (', text)}")
expect_error(f"CREATE TABLE wrong (a INT) {registry.replace('http:', 'httq:')}")
expect_error(f"CREATE TABLE wrong (a INT) {registry.replace(url, url + ', ' + url)}")
expect_error(f"CREATE TABLE wrong (a INT) {options.replace(bootstrap, f'u:{secret}@{bootstrap}')}")
expect_error("INSERT INTO orders VALUES ('x')")
expect_error("SELECT raise_error(CAST(a AS STRING)) FROM orders")
print(kafka_sql.check(spark, "orders"))
spark.sql(f"CREATE TABLE unreachable (a INT) {options}".replace(bootstrap, "127.0.0.1:1"))
expect_error("SELECT * FROM unreachable /*+ OPTIONS('properties.socket.connection.setup.timeout.ms' = '1000') */")
spark.sql("SET 'execution.checkpointing.dir' = '" + folder + "/checkpoints'")
spark.sql("SET 'execution.runtime-mode' = 'streaming'")
spark.sql("INSERT INTO temporary_orders SELECT a FROM orders")
query = spark.streams.active[0]
query.processAllAvailable()
print(query.lastProgress, query.status)
query._jsq.explain(True)
application = f"/api/v1/applications/{spark.sparkContext.applicationId}"
for path in ("/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/SQL/execution/?id=0", "/StreamingQuery/",
             application + "/sql?details=true&planDescription=true", application + "/environment"):
    with urllib.request.urlopen(spark.sparkContext.uiWebUrl + path) as response:
        assert secret not in response.read().decode(), path
for file in Path("/proc").glob("[0-9]*/cmdline"):
    with contextlib.suppress(OSError):
        assert secret.encode() not in file.read_bytes(), file
for item in (spark, frame, query, kafka_sql.sql.session.session_tables(spark)):
    assert secret not in repr(item)
for entry in kafka_sql.sql.session.session_tables(spark):
    assert secret not in repr(entry) + repr(entry.definition) + repr(entry.data_source) + repr(entry.table)
query.stop()
spark.stop()
"""


def test_a_password_appears_nowhere(topics: Topics, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secrets.properties").write_text(f"key={SECRET}\n")
    source, target = topics.create(), topics.create()
    options = topics.with_options(source)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), options, topics.bootstrap, source, target]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path / "local"), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=580, env=environment)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "1 2" in done.stdout.splitlines()  # the row of orders
    assert "'properties.sasl.password' = '******'" in done.stdout
    assert "'properties.ssl.key.password' = '******'" in done.stdout
    assert "'properties.sasl.oauthbearer.extensions' = '******'" in done.stdout
    assert "'properties.sasl.oauthbearer.token.endpoint.url' = 'http://******@h/token'" in done.stdout
    assert "'avro-confluent.properties.request.header.Authorization' = '******'" in done.stdout
    assert "'avro-confluent.url' = 'http://******@127.0.0.1:1'" in done.stdout
    (tmp_path / "secret").unlink()
    (tmp_path / "secrets.properties").unlink()
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert any("events" in p.parts for p in files)
    assert any("checkpoints" in p.parts for p in files)
    assert [p for p in files if SECRET.encode() in p.read_bytes()] == []
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if SECRET in line] == []
