"""Spark's shells with the extension's jar: ``spark-sql``, and the Thrift server with beeline."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyspark
import pytest

import kafka_sql
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.runtime.worker_main import installed_command
from kafka_sql.spark.jar import JAR
from tests.planted_secrets import create_statement, merged_tables, planted_secrets
from tests.topics import Topics

pytestmark = pytest.mark.integration

SPARK = Path(pyspark.__file__).parent
PYTHON = str(installed_command())
SECRET = "hunter2-in-the-clear"


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options for a user's shell, with all files in the test's folder."""
    work = tmp_path_factory.mktemp("extension")
    settings = {
        "spark.sql.extensions": "io.github.kafkasql.extension.Extensions",
        "spark.sql.catalogImplementation": "in-memory",  # a Hive metastore starts slowly
        "spark.sql.warehouse.dir": work / "warehouse",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts faster
    }
    return ["--master", "local[2]", "--jars", str(JAR), *(x for kv in settings.items() for x in _conf(*kv))]


def _conf(key: str, value: object) -> tuple[str, str]:
    return "--conf", f"{key}={value}"


def environment(python: str = PYTHON) -> dict[str, str]:
    """Environment variables of a shell whose Python has kafka_sql."""
    package = str(Path(kafka_sql.__file__).parents[1])
    return {**os.environ, "SPARK_HOME": str(SPARK), "PYSPARK_PYTHON": python, "PYTHONPATH": package}


def spark_sql(folder: Path, statements: str, *options: str, python: str = PYTHON) -> tuple[str, str]:
    """Run ``spark-sql -f`` and return its output and errors."""
    file = folder / "statements.sql"
    file.write_text(textwrap.dedent(statements))
    continue_on_error = ("--hiveconf", "hive.cli.errors.ignore=true")
    completed = subprocess.run(
        [SPARK / "bin/spark-sql", *options, *continue_on_error, "-f", file],
        cwd=folder,
        env=environment(python),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout, completed.stderr


def test_the_shell_executes_all_statements(topics: Topics, conf: list[str], tmp_path: Path) -> None:
    orders, sums = topics.create(), topics.create()
    topics.produce(orders, b'{"id": 1, "price": 9.5}', b'{"id": 2, "price": 20.25}')
    events, tables = tmp_path / "events", tmp_path / "tables"
    events.mkdir()
    # without PEM texts: in a file, spark-sql takes their first and last lines for comments
    planted = merged_tables(s for s in planted_secrets() if not s.is_rejected and "\n" not in s.value)
    with_secrets = [
        create_statement(options, head)
        for name, options in planted.items()
        for head in (f"CREATE TABL {name} (a STRING)", f"CREATE TEMPORARY TABLE {name} (a STRING)")
    ]
    statements = textwrap.dedent(f"""
        SELECT 'plain';
        SELEC 1;
        -- a table of Flink's
        CREATE TABLE orders (
          id INT,
          price DECIMAL(10, 2),
          doubled AS price * 2,
          at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
          WATERMARK FOR at AS at - INTERVAL '5' SECOND
        ) {topics.with_options(orders, **{"properties.ssl.key.password": SECRET})};
        CREATE TABLE sums (id INT, total DECIMAL(10, 2)) {topics.with_options(sums)};
        SELECT id, doubled FROM orders ORDER BY id;
        INSERT INTO sums (total, id) SELECT price + 1, id FROM orders;
        INSERT INTO orders (id, price) VALUES (3, 1);
        SELECT * FROM sums ORDER BY id;
        SELECT count(*) FROM orders;
        DESCRIBE orders;
        SHOW CREATE TABLE orders;
        SHOW TABLES;
        ALTER TABLE orders ADD hour_of AS PRINTF('%02d', HOUR(TO_TIMESTAMP_LTZ(id, 0)));
        SET 'table.local-time-zone' = 'Asia/Tokyo';
        SELECT DISTINCT hour_of FROM orders;
        CREATE TABLE wrong (id INT) {topics.with_options(sums, topik="x", **{"value.api-key": SECRET})};
        INSERT INTO sums SELECT 'no number', 1;
        SELECT * FROM nowhere;
        SELECT pric FROM orders;
        SET 'execution.runtime-mode' = 'sometimes';
        SELEC 2;
        CREATE TABL wrong (id INT) WITH ('properties.sasl.password' '{SECRET}');
        CREATE TABLE wrong (id INT) ('properties.sasl.pasword' = '{SECRET}');
        ALTER TABLE sums SET ('properties.sasl.password' '{SECRET}', 'topic' = 'x');
        SELECT * FORM sums /*+ OPTIONS('properties.sasl.password' '{SECRET}') */;
        DROP TABLE orders;
        SHOW TABLES;
        SELECT upper('spark''s own');
        """)
    out, err = spark_sql(
        tmp_path,
        statements + ";\n".join([*with_secrets, ""]),
        *conf,
        *_conf("spark.eventLog.enabled", "true"),
        *_conf("spark.eventLog.dir", events),
        *_conf("spark.eventLog.compress", "false"),
        *_conf("spark.kafka_sql.catalog", tables),
    )
    assert out.splitlines() == [
        "plain",
        "1\t19.00",
        "2\t40.50",
        "1\t10.50",
        "2\t21.25",
        "3",
        "id\tINT\ttrue\tNULL\tNULL\tNULL\tNULL",
        "price\tDECIMAL(10, 2)\ttrue\tNULL\tNULL\tNULL\tNULL",
        "doubled\tDECIMAL(21,2)\ttrue\tNULL\tAS price * 2\tNULL\tNULL",
        "at\tTIMESTAMP_LTZ(3)\ttrue\tNULL\tMETADATA FROM 'timestamp'\tat - INTERVAL '5' SECOND\tNULL",
        "CREATE TABLE `default`.`orders` (",
        "  `id` INT,",
        "  `price` DECIMAL(10, 2),",
        "  `doubled` AS price * 2,",
        "  `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',",
        "  WATERMARK FOR `at` AS at - INTERVAL '5' SECOND",
        ") WITH (",
        "  'connector' = 'kafka',",
        f"  'topic' = '{orders}',",
        f"  'properties.bootstrap.servers' = '{topics.bootstrap}',",
        "  'scan.startup.mode' = 'earliest-offset',",
        "  'format' = 'json',",
        "  'properties.ssl.key.password' = '******'",
        ")",
        "default\torders\tfalse",
        "default\tsums\tfalse",
        "table.local-time-zone\tAsia/Tokyo",
        "09",
        "sums",  # nothing is hidden any more, so this is Spark's listing
        "SPARK'S OWN",
    ]
    line = 2 if pyspark.__version__.startswith("4.1.") else 1  # that shell passes the line break before a statement
    assert re.findall(r"^\[\S+\] .{24}", err, re.MULTILINE) == [
        "[PARSE_SYNTAX_ERROR] Syntax error at or near ",
        "[UNKNOWN_OPTION] Unsupported options foun",
        "[INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST] Cannot write incompatibl",
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhe",
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or f",
        "[INVALID_OPTION] Invalid value 'sometimes",
        "[PARSE_SYNTAX_ERROR] Syntax error at or near ",
        "[PARSE_SYNTAX_ERROR] Spark cannot parse the s",
        f"[SQL_SYNTAX] line {line}, column 29: expec",
        f"[SQL_SYNTAX] line {line}, column 50: expec",
        "[PARSE_SYNTAX_ERROR] Spark cannot parse the s",
        *["[PARSE_SYNTAX_ERROR] Spark cannot parse the s"] * len(planted),
    ]
    assert re.search(r"== SQL ==\n{1,2}SELEC 1\n\^\^\^\n", err)  # Spark's message is complete
    assert "\n\tat " not in err, "a stack trace"
    assert "Traceback" not in err
    assert [line for line in (out + err).splitlines() if "__kafka" in line and " WARN " not in line] == []
    assert SECRET not in out + err
    (log,) = (path.read_text() for path in events.rglob("events_*"))
    assert "CREATE TABLE orders (" in log
    assert "*********(redacted)" in log
    assert SECRET not in log
    assert [secret.name for secret in planted_secrets() if secret.is_in(out + err + log)] == []
    assert [path.name for path in tables.rglob("*.sql")] == ["default.sums.sql"]


@pytest.mark.long
def test_a_python_that_cannot_be_started(conf: list[str], tmp_path: Path) -> None:
    out, err = spark_sql(
        tmp_path,
        f"""
        CREATE TABLE plain USING parquet AS SELECT 1 AS one;
        SELECT * FROM plain;
        CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'properties.ssl.key.password' = '{SECRET}');
        SELECT 'still here';
        """,
        *conf,
        python="/no/such/python",
    )
    assert out == "1\nstill here\n"
    assert re.findall(r"^\[.*", err, re.MULTILINE) == [
        '[PYTHON_NOT_STARTED] Cannot run program "/no/such/python": error=2, No such file or directory. '
        "Set PYSPARK_PYTHON to a Python that has kafka_sql installed."
    ]
    assert SECRET not in err


@pytest.fixture
def server(conf: list[str], tmp_path: Path) -> Iterator[tuple[str, int, str]]:
    """A Thrift server's JDBC URL, process id and UI. It writes an event log."""
    for name in ("tables", "events"):
        (tmp_path / name).mkdir()
    (ui_port,) = free_ports(1)
    settings = {
        "spark.kafka_sql.catalog": tmp_path / "tables",
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": tmp_path / "events",
        "spark.eventLog.compress": "false",
    }
    command = [
        *(SPARK / "bin/spark-submit", *conf, *(x for kv in settings.items() for x in _conf(*kv))),
        *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"),
        *("--hiveconf", "hive.server2.thrift.port=0", "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"),
    ]
    log = tmp_path / "server.log"
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        with open(log, "w") as log_file:
            ports = (_port(line, log_file) for line in process.stderr)
            port = next(p for p in ports if p)
            rest = threading.Thread(target=lambda: [log_file.write(line) for line in process.stderr or ()])
            rest.start()
            yield f"jdbc:hive2://127.0.0.1:{port}/default", process.pid, f"http://127.0.0.1:{ui_port}"
            process.terminate()
            rest.join()


def _port(line: str, log_file: IO[str]) -> str | None:
    log_file.write(line)
    match = re.search(r"ThriftBinaryCLIService on port (\d+)", line)
    return match[1] if match else None


def beeline(url: str, *statements: str) -> subprocess.Popen[str]:
    """Open a connection that runs statements and continues after errors."""
    options = ("-n", "me", "--force=true", "--silent=true", "--outputformat=tsv2", "--showHeader=false")
    return subprocess.Popen(
        [SPARK / "bin/beeline", "-u", url, *options, *(x for statement in statements for x in ("-e", statement))],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(client: subprocess.Popen[str]) -> tuple[list[str], list[str]]:
    """Wait for a connection and return its rows and the first lines of its errors."""
    out, err = client.communicate(timeout=200)
    rows = re.sub(r"^(\d+: \S+> )+", "", out, flags=re.MULTILINE).splitlines()  # without the prompts
    return rows, re.findall(r"^Error: \S+ Error running query: (\[\S+\] .{24})", err, re.MULTILINE)


@pytest.mark.long
def test_connections_of_the_thrift_server(topics: Topics, server: tuple[str, int, str], tmp_path: Path) -> None:
    url, pid, ui = server
    topic = topics.create()
    topics.produce(topic, b'{"id": 1}')
    secrets = [s for s in planted_secrets() if s.name == s.key and s.key.startswith("properties.")]
    secrets = [s for s in secrets if not s.is_rejected and "\n" not in s.value]
    options = topics.with_options(topic, **{secret.key: secret.value for secret in secrets})
    first = beeline(
        url,
        f"CREATE TABL t (id INT) {options}",
        f"CREATE TABLE t (id INT, more AS PRINTF('%02d', id + 1)) {options}",
        "SET 'execution.runtime-mode' = 'streaming'",
        "INSERT INTO t (id) VALUES (2)",
        "SET 'execution.runtime-mode' = 'sometimes'",
        "SELECT 'own'",
    )
    assert output(first) == (
        ["execution.runtime-mode\tstreaming", "own"],
        ["[PARSE_SYNTAX_ERROR] [PARSE_SYNTAX_ERROR] Spa", "[INVALID_OPTION] Invalid value 'sometimes"],
    )

    concurrent = [
        beeline(url, f"SELECT id, more FROM t WHERE id > {i} ORDER BY id", "DESCRIBE t", "SET `execution.runtime-mode`")
        for i in range(2)
    ]
    described = [
        "id\tINT\ttrue\tNULL\tNULL\tNULL\tNULL",
        "more\tSTRING\ttrue\tNULL\tAS PRINTF('%02d', id + 1)\tNULL\tNULL",
    ]
    other_settings = "execution.runtime-mode\t<undefined>"
    assert [output(client) for client in concurrent] == [
        (["1\t02", "2\t03", *described, other_settings], []),
        (["2\t03", *described, other_settings], []),
    ]

    zone = beeline(
        url,
        f"CREATE TABLE z (id INT, hour_of AS HOUR(TO_TIMESTAMP_LTZ(id, 0))) {topics.with_options(topic)}",
        "SELECT DISTINCT hour_of FROM z",
        "SET 'table.local-time-zone' = 'Asia/Tokyo'",
        "SELECT DISTINCT hour_of FROM z",
        "DROP TABLE z",
    )
    assert output(zone) == (["0", "table.local-time-zone\tAsia/Tokyo", "9"], [])

    os.kill(_python_of(pid), signal.SIGKILL)
    again = beeline(url, "SELECT id FROM t ORDER BY id", "DROP TABLE t", "SELECT id FROM t")
    assert output(again) == (["1", "2"], ["[TABLE_OR_VIEW_NOT_FOUND] org.apache.spark.sql.Ana"])  # from the folder
    log = (tmp_path / "server.log").read_text()
    paths = ("/sqlserver/", "/SQL/", "/jobs/", "/environment/", "/StreamingQuery/")
    pages = [urllib.request.urlopen(ui + path).read().decode() for path in paths]
    assert "CREATE TABLE t (id INT" in pages[0]
    events = [path.read_text() for path in (tmp_path / "events").rglob("events_*")]
    assert events
    assert [s.name for s in secrets if any(map(s.is_in, (log, *pages, *events)))] == []


def _python_of(jvm: int) -> int:
    """Return the id of the Python process of a JVM."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    )
    processes = [line.split(None, 2) for line in listing.stdout.splitlines()]
    (pid,) = (int(p) for p, parent, *command in processes if int(parent) == jvm and "attach" in "".join(command))
    return pid
