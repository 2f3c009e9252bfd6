"""Use the same names in two clients of a Spark Connect server.

As a program: ``python -m tests.connect_isolation URL FOLDER ALICES_OPTIONS BOBS_OPTIONS``, with WITH clauses.
It prints ``passed`` at its end.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.errors import JobNotFoundError, TableNotFoundError
from tests.connect_statements import rows


@dataclass
class Client:
    """A client with a user of its server.

    Attributes:
        url: the server.
        user: the user.
        options: the WITH clause of the user's tables.
        secret: the value of one of these options.
    """

    url: str
    user: str
    options: str
    secret: str

    def __post_init__(self) -> None:
        """Connect."""
        self.options = self.options.replace("WITH (", f"WITH ('properties.ssl.key.password' = '{self.secret}', ")
        self.spark: Any = kafka_sql.enable(SparkSession.builder.remote(f"{self.url}/;user_id={self.user}").create())

    @property
    def topic(self) -> str:
        """The topic of the user's tables."""
        return self.options.partition("'topic' = '")[2].partition("'")[0]

    def sql(self, statement: str) -> Any:
        """Run a statement."""
        return self.spark.sql(statement)

    def error(self, statement: str, *types: type[Exception]) -> str:
        """Run a statement that fails; return its error message."""
        try:
            self.sql(statement).collect()
        except types as e:
            return str(e)
        raise AssertionError(statement)

    def tables(self) -> list[str]:
        """Return the names of the tables that the client sees."""
        return [row.tableName for row in self.sql("SHOW TABLES").collect()]

    def databases(self) -> set[str]:
        """Return the names of the databases, except the default one."""
        return {row.namespace for row in self.sql("SHOW DATABASES").collect()} - {"default"}


def main(url: str, folder: str, alices_options: str, bobs_options: str) -> None:
    """Check that neither client can use the tables and jobs of the other one."""
    alice = Client(url, "alice", alices_options, "alice-hunter2")
    bob = Client(url, "bob", bobs_options, "bob-hunter2")
    earlier_databases = bob.databases()
    alice.sql(f"CREATE TABLE orders (a INT, b AS a + 1) {alice.options}")
    alice.sql("INSERT INTO orders VALUES (1)")
    (alices_database,) = bob.databases() - earlier_databases
    check_missing_table(alice, bob, alices_database)
    check_same_names(alice, bob)
    check_jobs(alice, bob, folder)
    alice.spark.stop()
    assert alices_database not in bob.databases()
    bob.sql("DROP TABLE orders")
    reconnected = Client(url, "alice", alices_options, "alice-hunter2")
    assert reconnected.tables() == []
    reconnected.sql(f"CREATE TABLE orders (a INT) {reconnected.options}")
    assert rows(reconnected.sql("SELECT * FROM orders")) == [(1,)]
    for client in (reconnected, bob):
        client.spark.stop()
    print("passed")


def check_missing_table(alice: Client, bob: Client, alices_database: str) -> None:
    """Check that bob has no table orders, and sees names and columns, but no options and rows, of alice's table."""
    assert bob.tables() == []
    assert bob.spark.catalog.listTables() == []
    assert not bob.spark.catalog.tableExists("orders")
    statements = (
        "SELECT * FROM orders",
        "SELECT * FROM default.orders",
        "INSERT INTO orders VALUES (7)",
        "DESCRIBE orders",
        "SHOW CREATE TABLE orders",
        "SHOW COLUMNS IN orders",
        "ALTER TABLE orders SET ('topic' = 'x')",
        f"CREATE TABLE copy {bob.options} LIKE orders",
        "DROP TABLE orders",
    )
    texts = [bob.error(statement, AnalysisException, TableNotFoundError) for statement in statements]
    bob.sql("DROP TABLE IF EXISTS orders")
    assert rows(alice.sql("SELECT * FROM orders")) == [(1, 2)]
    listing = bob.sql(f"SHOW TABLE EXTENDED IN {alices_database} LIKE '*'").collect()
    assert [row.tableName for row in listing] == ["orders__kafka"]
    texts += [row.information for row in listing]
    texts.append(bob.error(f"SELECT * FROM {alices_database}.orders__kafka", Exception))
    texts.append(bob.error(f"INSERT INTO {alices_database}.orders__kafka VALUES (7)", Exception))
    for text in texts:
        assert alice.secret not in text, text
        assert not re.search(rf"{alice.topic}\b", text), text


def check_same_names(alice: Client, bob: Client) -> None:
    """Check that both clients can use the same table names."""
    bob.sql(f"CREATE TABLE orders (c STRING) {bob.options}")
    bob.sql("INSERT INTO orders VALUES ('x')")
    assert rows(bob.sql("SELECT * FROM orders")) == [("x",)]
    for client in (alice, bob):
        client.sql(f"CREATE TEMPORARY TABLE recent (c STRING) {client.options}")
        assert sorted(client.tables()) == ["orders", "recent"]
        statement = client.sql("SHOW CREATE TABLE orders").first()[0]
        assert (f"'{alice.topic}'" in statement) == (client is alice)
        assert "hunter2" not in statement
    assert rows(alice.sql("SELECT a, b FROM default.orders")) == [(1, 2)]
    assert rows(bob.sql("SELECT c FROM default.orders")) == [("x",)]
    bob.sql("ALTER TABLE orders SET ('scan.startup.mode' = 'latest-offset')")
    assert "latest-offset" not in alice.sql("SHOW CREATE TABLE orders").first()[0]


def check_jobs(alice: Client, bob: Client, folder: str) -> None:
    """Check that bob neither sees nor stops a job of alice, and has other settings."""
    alice.sql("SET 'execution.runtime-mode' = 'streaming'")
    alice.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
    alice.sql(f"CREATE TABLE sink (a INT) {bob.options}")
    job = alice.sql("INSERT INTO sink SELECT a FROM orders").first()[0]
    assert bob.sql("SHOW JOBS").collect() == []
    assert bob.spark.streams.active == []
    assert job in bob.error(f"STOP JOB '{job}'", JobNotFoundError)
    assert [(row[0], row["status"]) for row in alice.sql("SHOW JOBS EXTENDED").collect()] == [(job, "RUNNING")]
    alice.sql(f"STOP JOB '{job}'")
    assert bob.spark.conf.get("execution.runtime-mode", "batch") == "batch"


if __name__ == "__main__":
    main(*sys.argv[1:])
