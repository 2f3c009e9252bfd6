"""kafka-sql in a terminal, with files and pipes, and compared with spark-sql."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.terminal import Terminal
from tests.topics import Topics

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "kafka_sql.cli"]
SMALL = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
IN_MEMORY = ["--conf", "spark.sql.catalogImplementation=in-memory"]  # a default of kafka-sql
PROMPT = r"kafka-sql \(default\)>$"

ORDINARY = """
-- ordinary statements
SELECT 1 AS a, 'x', NULL, array(1, 2), map('a', struct(1, 'b')), DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00.5',
       CAST(1.5 AS DECIMAL(10, 3)), 1.0e10D, X'616263', INTERVAL '1' DAY, true, array('a', NULL);
SET x = 5;
SELECT ${x}, '${hivevar:y}', ';', "a;b" /* ; */;
CREATE TEMPORARY VIEW v AS SELECT id, 'a b' AS text FROM range(3);
SHOW TABLES; DESCRIBE v; SHOW COLUMNS IN v;
SELECT * FROM v WHERE id > 5;
SELECT * FROM v ORDER BY id;
!echo from the shell;
source more.sql;
SET spark.sql.cli.print.header = true;
SELECT id % 2 AS odd, count(*) AS n FROM v GROUP BY 1 ORDER BY 1;
SELECT raise_error('boo') FROM v;
SELECT 'not reached';
"""


def environment(home: Path, **variables: str) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK", "COLUMNS", "LINES"))}
    python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**inherited, "HOME": str(home), "TERM": "xterm", "PYTHONPATH": str(ROOT), "PATH": python, **variables}


@pytest.mark.long
def test_prints_what_spark_sql_prints(tmp_path: Path) -> None:
    (tmp_path / "all.sql").write_text(ORDINARY)
    (tmp_path / "more.sql").write_text("SELECT 'from a file'")
    home = Path(pyspark.__file__).parent
    flags = [*SMALL, "--hivevar", "y=why", "-f", "all.sql"]
    ours, theirs = (
        subprocess.run(
            [*command, *flags], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False
        )
        for command, env in (
            (COMMAND, environment(tmp_path)),
            ([str(home / "bin" / "spark-sql"), *IN_MEMORY], environment(tmp_path, SPARK_HOME=str(home))),
        )
    )
    assert ours.stdout == theirs.stdout
    assert (ours.returncode, theirs.returncode) == (1, 1)
    fetched = [re.findall(r"^Time taken: [\d.]+ seconds(.*)$", run.stderr, re.M) for run in (ours, theirs)]
    assert fetched[0] == fetched[1]
    assert ours.stderr.endswith("\n[USER_RAISED_EXCEPTION] boo SQLSTATE: P0001\nat all.sql:15\n")
    assert "\tat " not in ours.stderr
    assert not (tmp_path / "metastore_db").exists()


@pytest.mark.long
def test_class_archive(tmp_path: Path) -> None:
    env = environment(tmp_path, KAFKA_SQL_CACHE=str(tmp_path / "cache"))
    for _ in range(2):  # creates it, and finds it
        command = subprocess.run(
            [*COMMAND, "class-archive"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=True
        )
        (archive,) = (tmp_path / "cache").glob("*.jsa")
        assert command.stdout == f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off\n"
    loaded = tmp_path / "loaded"
    query = subprocess.run(
        [*COMMAND, *SMALL, "-S", "-e", "SELECT 1"],
        cwd=tmp_path,
        env={**env, "SPARK_SUBMIT_OPTS": f"-Xlog:class+load=info:file={loaded}"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert query.stdout == "1\n"
    # 'top' is the archive; the other one is Java's own
    assert re.search(
        r" org.apache.spark.sql.classic.SparkSession source: shared objects file \(top\)", loaded.read_text()
    )


class Shell:
    """kafka-sql in a terminal."""

    def __init__(self, folder: Path) -> None:
        self.terminal = Terminal([*COMMAND, *SMALL], environment(folder), str(folder))
        self.terminal.wait(PROMPT, 120)

    def run(self, statement: str, timeout: float = 60) -> str:
        """Run a statement and return its output, up to the next prompt."""
        self.terminal.clear()
        self.terminal.send(statement + "\r")
        self.terminal.wait(r"(?s)" + r"\n" + PROMPT, timeout)
        return self.terminal.text.rsplit("\n", 1)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shell")


@pytest.fixture(scope="module")
def shell(folder: Path) -> Iterator[Shell]:
    shell = Shell(folder)
    yield shell
    shell.terminal.close()


def test_a_statement_of_several_lines(shell: Shell) -> None:
    terminal = shell.terminal
    terminal.clear()
    terminal.send("SELECT ';', 6 *\r")
    terminal.wait(r"\n {19}>$")
    terminal.send("7;\r")
    terminal.wait(r"\n;\t?\s+42\nTime taken: [\d.]+ seconds, Fetched 1 row\(s\)\n" + PROMPT)


def test_an_error_does_not_end_the_shell(shell: Shell) -> None:
    assert re.search(r"\n\[TABLE_OR_VIEW_NOT_FOUND\] .*`nowhere`", shell.run("SELECT * FROM nowhere;"))
    assert "\nat " not in shell.terminal.text
    assert re.search(r"\n2\n", shell.run("SELECT 1 + 1;"))


def test_ctrl_c_at_the_prompt_clears_the_line(shell: Shell) -> None:
    shell.terminal.clear()
    shell.terminal.send("SELECT 'half")
    shell.terminal.wait("half$")
    shell.terminal.send("\x03")
    shell.terminal.wait(r"half\n" + PROMPT)


def test_completion(shell: Shell) -> None:
    shell.run("CREATE OR REPLACE TEMPORARY VIEW my_orders AS SELECT 1 AS order_number;")
    for typed, completed in (
        ("SELECT * FROM my_or\t", "SELECT * FROM my_orders"),
        ("SELECT my_orders.ord\t", "SELECT my_orders.order_number"),
        ("descri\t", "describe"),
        ("CREATE TABLE t (a INT) WITH ('scan.startup.mo\tear\t", "WITH ('scan.startup.mode' = 'earliest-offset'"),
        ("CREATE TABLE t (a INT) WITH ('format' = 'ra\t", "'format' = 'raw'"),
        ("SET 'execution.run\tstr\t", "SET 'execution.runtime-mode' = 'streaming'"),
    ):
        shell.terminal.clear()
        for part in re.findall(r"[^\t]+\t?", typed):
            shell.terminal.send(part)
            shell.terminal.wait(re.escape(part.rstrip("\t")) + r"\S+" if part.endswith("\t") else "")
        shell.terminal.wait(re.escape(completed))
        shell.terminal.send("\x03")
        shell.terminal.wait(PROMPT)


@pytest.mark.long
def test_ctrl_c_stops_the_statement_and_not_the_shell(shell: Shell) -> None:
    terminal = shell.terminal
    terminal.clear()
    terminal.send("SELECT sum(a.id * b.id % 7) FROM range(1000000) a CROSS JOIN range(1000000) b;\r")
    terminal.wait(r"\[ +\] 0/2 tasks, \d+ s")
    terminal.send("\x03")
    terminal.wait(r"\nThe statement was stopped\.\n" + PROMPT)
    assert "tasks" not in terminal.text
    assert re.search(r"\n25\n", shell.run("SELECT 5 * 5;"))


@pytest.fixture(scope="module")
def tables(shell: Shell, kafka: Any, folder: Path) -> Topics:
    """Tables src and tgt, with topics of the same names."""
    topics = Topics(kafka.bootstrap_servers)
    for name in ("src", "tgt"):
        topics.create_named(name)
        shell.run(f"CREATE TABLE {name} (a INT, b STRING) {topics.with_options(name)};")
    topics.produce("src", b'{"a": 1, "b": "x"}', b'{"a": 2}')
    shell.run(f"SET 'execution.checkpointing.dir' = '{folder}/checkpoints';")
    return topics


@pytest.mark.long
def test_a_temporal_join_by_the_time_of_kafka(shell: Shell, tables: Topics, folder: Path) -> None:
    """As in Flink's documentation: with TIMESTAMP columns FROM 'timestamp', which depend on the session's time zone."""
    for name in ("currency_rates", "orders"):
        tables.create_named(name)
    time = "TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR t AS t"
    (folder / "join.sql").write_text(f"""
        CREATE TABLE currency_rates (currency STRING, rate INT, t {time}, PRIMARY KEY (currency) NOT ENFORCED)
          {tables.with_upsert_options("currency_rates")};
        CREATE TABLE orders (price INT, currency STRING, t {time}) {tables.with_options("orders")};
        INSERT INTO currency_rates VALUES ('Euro', 114), ('Yen', 1);
        INSERT INTO orders VALUES (2, 'Euro'), (50, 'Yen');
        SELECT o.price * r.rate AS amount FROM orders AS o
        JOIN currency_rates FOR SYSTEM_TIME AS OF o.t AS r ON o.currency = r.currency ORDER BY amount;""")
    assert re.search(r"\n50\n228\nTime taken: .*, Fetched 2 row\(s\)\n", shell.run("source join.sql;", 240))


@pytest.mark.long
def test_ctrl_c_in_a_micro_batch_prints_two_lines(shell: Shell, tables: Topics) -> None:
    shell.run("SET 'execution.runtime-mode' = 'streaming';")
    terminal = shell.terminal
    terminal.clear()
    terminal.send("SELECT b, count(*) FROM src, range(9999999), range(9999999) GROUP BY b;\r")
    terminal.wait(r"\[ +\] \d+/\d+ tasks, \d+ s", 120)
    terminal.send("\x03")
    terminal.wait(r"\n" + PROMPT, 90)
    _, stopping, time, _ = terminal.text.splitlines()
    assert stopping == "Stopping the statement. Press Ctrl-C again to exit immediately."
    assert re.fullmatch(r"Time taken: [\d.]+ seconds", time)


def test_a_streaming_select_prints_new_rows_until_ctrl_c(shell: Shell, tables: Topics) -> None:
    terminal = shell.terminal
    shell.run("SET 'execution.runtime-mode' = 'streaming'; SET spark.sql.cli.print.header = true;")
    terminal.clear()
    terminal.send("SELECT * FROM src WHERE a > 0;\r")
    terminal.wait(r"\na\s+b\n1\s+x\n2\s+NULL$", 90)
    tables.produce("src", b'{"a": 3, "b": "later"}')
    terminal.wait(r"\n3\s+later$", 90)
    terminal.send("\x03")
    terminal.wait(r"\nTime taken: [\d.]+ seconds, Fetched 3 row\(s\)\n" + PROMPT)
    assert terminal.text.count("a       b") == 1
    assert not re.search(r"\[[A-Z_]+\]", terminal.text)
    shell.run("SET spark.sql.cli.print.header = false;")


def test_jobs_are_shown_and_stopped(shell: Shell, tables: Topics) -> None:
    shell.run("SET 'execution.runtime-mode' = 'streaming'; SET 'pipeline.name' = 'copy';")
    id = re.search(r"\n([0-9a-f-]{36})\n", shell.run("INSERT INTO tgt SELECT a * 10, b FROM src;"))
    assert id is not None
    shown = r"\n" + id[1][:8] + r"\s+copy\s+{}\s+(\d+m )?\d+s\s"
    assert re.search(shown.format("RUNNING"), shell.run("SHOW JOBS;"))
    savepoint = shell.run(f"STOP JOB '{id[1]}' WITH SAVEPOINT;").replace("\n", "")
    assert "[UNSUPPORTED_SQL] STOP JOB ... WITH SAVEPOINT is not supported and not needed" in savepoint
    assert "Time taken" in shell.run(f"STOP JOB '{id[1]}';")
    assert re.search(shown.format("CANCELED"), shell.run("SHOW JOBS;"))
    again = shell.run(f"STOP JOB '{id[1]}';").replace("\n", "")
    # the terminal breaks the line before the status
    error = rf"\[JOB_NOT_FOUND\] Running job '{id[1]}' not found in this session\. It is ?CANCELED\."
    assert re.search(error, again)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.5, 1, 3, 5, 8])
def test_ctrl_c_while_the_shell_starts_prints_nothing(seconds: float, tmp_path: Path) -> None:
    terminal = Terminal([*COMMAND, *SMALL], environment(tmp_path), str(tmp_path))
    with contextlib.suppress(AssertionError):  # not yet
        terminal.wait(PROMPT, seconds)
    terminal.send("\x03\x04")
    assert terminal.wait_for_exit() in (0, 130, -signal.SIGINT)
    assert re.fullmatch(r"(?:\^C)?", terminal.text) or re.search(PROMPT, terminal.text), terminal.text
    terminal.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM range(9999999) a, range(9999999) b WHERE a.id + b.id = 1",
        "SELECT * FROM silent",
        "INSERT INTO silent VALUES (1)",
        "SET 'execution.runtime-mode' = 'streaming'; SET 'execution.checkpointing.dir' = '{folder}/checkpoints'; "
        "INSERT INTO sink SELECT * FROM numbers",
        "!echo 1 s && sleep 100",
    ],
)
def test_ctrl_c_in_a_file_prints_three_lines(statement: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts connections, and never responds
        (tmp_path / "a.sql").write_text(
            f"""CREATE TABLE silent (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
              'properties.bootstrap.servers' = '127.0.0.1:{server.getsockname()[1]}');
            CREATE TABLE numbers (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
            CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole');
            SELECT 'starts';
            {statement.format(folder=tmp_path)};"""
        )
        terminal = Terminal([*COMMAND, *SMALL, "-f", "a.sql"], environment(tmp_path), str(tmp_path))
        terminal.wait(
            r"starts\nTime taken: [\d.]+ seconds, Fetched 1 row\(s\)\n(?:.|\n)*(?: s|sink: \w.*|them: .*)$", 240
        )
        terminal.clear()
        terminal.send("\x03")
        code = terminal.wait_for_exit()
    lines = terminal.text.splitlines()
    assert len(lines) <= 3, terminal.text
    assert code in (0, 130)


@pytest.mark.long
def test_the_next_shell_has_the_history_without_secrets(shell: Shell, folder: Path) -> None:
    shell.run("SET 'my.password' = 'hunter2';")
    shell.terminal.clear()
    shell.terminal.send("\x04")
    assert shell.terminal.wait_for_exit() == 0
    history = folder / ".kafka_sql_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in history.read_text()
    next_terminal = Shell(folder).terminal
    next_terminal.send("\x1b[A")
    next_terminal.wait(r"> SET 'my.password' = '\*{6}';$")
    next_terminal.send("\x1b[A")
    next_terminal.wait(r"> STOP JOB '[0-9a-f-]{36}';$")
    next_terminal.send("\x03quit;\r")
    assert next_terminal.wait_for_exit() == 0


@pytest.mark.long
def test_the_process_waits_for_its_jobs_until_a_signal(kafka: Any, tmp_path: Path) -> None:
    topics = Topics(kafka.bootstrap_servers)
    for name in ("orders", "dear"):
        topics.create_named(name)
    topics.produce("orders", b'{"order_id": 1, "price": 99}', b'{"order_id": 2, "price": 101.5}')
    (statements,) = re.findall(r"^```sql\n(.*?)^```", (ROOT / "docs" / "kafka-sql.md").read_text(), re.M | re.S)
    variables = ["--hivevar", f"brokers={topics.bootstrap}", "--hivevar", f"checkpoints={tmp_path}/checkpoints"]
    process = subprocess.Popen(
        [*COMMAND, *SMALL, *variables, "-S"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(statements)
    process.stdin.close()
    *_, id = [process.stdout.readline() for _ in range(4)]
    assert re.fullmatch(r"[0-9a-f-]{36}\n", id)
    assert first_record(topics, "dear") == {"order_id": 2}
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()
    metadata = tmp_path / "checkpoints" / "dear-orders" / "metadata"
    assert json.loads(metadata.read_text())["id"] == id.strip()


def first_record(topics: Topics, topic: str) -> Any:
    """Wait for the first record of a topic and return it."""
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "tests"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(120)
    consumer.close()
    assert message is not None, f"no record in {topic}"
    return json.loads(message.value() or b"")
