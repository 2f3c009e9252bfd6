"""A secret in any option appears in no output of this package. ``tests/planted_secrets.py`` lists the options."""

from __future__ import annotations

import logging
import random
import re
import stat
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyspark import cloudpickle
from pyspark.sql.types import StructType

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_sync import CatalogSync
from kafka_sql.catalog.catalog_table import (
    CatalogTable,
    create_table_statement,
    create_view_statement,
    select_statement,
)
from kafka_sql.catalog.data_source import data_source_class
from kafka_sql.catalog.file_store import FileCatalogStore, TableName
from kafka_sql.checks.table import check_table
from kafka_sql.cli import runner
from kafka_sql.cli.editor import MaskedHistory
from kafka_sql.cli.screen import Screen
from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import KafkaSqlError
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import declare_registry_options, registry_settings
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.options.connector import PREFIXES
from kafka_sql.options.secrets import is_secret, is_url, secret_options_pattern
from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter
from kafka_sql.source.spark_readers import BatchReader, StreamReader
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_create, to_declaration, to_table
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.declarations.render import render_create_table, render_masked
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.errors.spark_errors import mask_syntax_error
from kafka_sql.sql.grammar.parser import parse_alteration, parse_declaration
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.rewrite.hints import parse_hint
from kafka_sql.statement_masking import mask_statement
from kafka_sql.table.table import Table
from tests.http_server import serve
from tests.planted_secrets import (
    ADDRESSES,
    FORMAT,
    MAPS,
    PUBLIC,
    SECRETS,
    TABLE,
    PlantedSecret,
    create_statement,
    free_text_options,
    java_types,
    make_marker,
    merged_tables,
    planted_secrets,
    registry_formats,
    sql_options,
)
from tests.typos import make_typos, make_typos_around_option

SECRET = pytest.mark.parametrize("secret", planted_secrets(), ids=lambda secret: secret.name)
SINGLE_SECRET = pytest.mark.parametrize(  # without the lists of properties
    "secret", [s for s in planted_secrets() if not s.key.endswith(".properties")], ids=lambda secret: secret.name
)
SCHEMA = pa.schema([("a", pa.string())])
SPARK_ERROR = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 't'. SQLSTATE: 42601 (line 1, pos 0)\n\n== SQL ==\n"
PLAIN = parse_create(create_statement({**TABLE, "format": "raw"}))


def test_every_option_is_classified() -> None:
    classified = (SECRETS, ADDRESSES, MAPS, PUBLIC)
    assert sum(map(len, classified)) == len(frozenset().union(*classified)), "an option is in two lists"
    assert free_text_options() == frozenset().union(*classified)
    assert PREFIXES == ("properties.", "sink.topic.config.")  # Kafka has no secrets among the configurations of topics


def test_keys_of_secrets_are_recognized() -> None:
    assert {key for key in SECRETS | ADDRESSES | PUBLIC if is_secret(key)} == SECRETS
    assert {key for key in SECRETS | ADDRESSES | PUBLIC if is_url(key)} == ADDRESSES


def test_passwords_of_kafka_are_secrets() -> None:
    passwords = {f"properties.{key}" for key, value_type in java_types().items() if value_type == "PASSWORD"}
    assert passwords - SECRETS == {"properties.ssl.truststore.certificates"}  # of authorities, which are public


def test_options_of_data_frames_are_redacted() -> None:
    pattern = re.compile(secret_options_pattern())
    lists = [s.name for s in planted_secrets() if s.key.endswith(".properties")]
    assert [s.name for s in planted_secrets() if not (pattern.search(s.key) or pattern.search(s.value))] == lists
    assert [key for key in PUBLIC if pattern.search(key)] == []


def attempt(function: Callable[[], object]) -> str:
    """Return what a function returns, as text, or its error with the stack trace."""
    try:
        return repr(function())
    except KafkaSqlError as e:
        return "".join(traceback.format_exception(e)) + repr(vars(e))


def alter(table: Table, options: str) -> Definition:
    alteration = parse_alteration(f"ALTER TABLE t SET ({options})")
    return validate_table(to_table(apply_alteration(to_declaration(table), alteration)))


def use_hint(table: Table, options: str) -> Definition:
    hint = parse_hint(f"t /*+ OPTIONS({options}) */", 1)
    assert hint is not None
    return validate_table(replace(table, options={**table.options, **hint.options}))


def copy_table(table: Table, options: str) -> Definition:
    declaration = parse_declaration(f"CREATE TABLE u WITH ({options}) LIKE t (EXCLUDING OPTIONS)")
    return validate_table(to_table(merge_like(declaration, to_declaration(table))))


def add_by_like(table: Table, options: str) -> Definition:
    declaration = parse_declaration(f"CREATE TABLE u WITH ({options}) LIKE t (INCLUDING OPTIONS)")
    return validate_table(to_table(merge_like(declaration, to_declaration(table))))


def catalog_table(definition: Definition) -> CatalogTable:
    source = data_source_class("kafka.t", definition, StructType([]))
    return CatalogTable(("default", "t"), definition, ("default", "t__kafka"), source)


def describe(definition: Definition) -> Iterator[str]:
    """Yield what is shown of a table, and what Spark gets to know of it."""
    entry = catalog_table(definition)
    payloads = (definition.key, definition.value)
    tasks = [c(definition, SCHEMA) for c in (BatchReader, StreamReader)]
    tasks += [c(definition) for c in (BatchWriter, StreamWriter)]
    shown = [entry, entry.data_source, entry.data_source({}), definition, definition.table, definition.options, *tasks]
    yield from (text for item in (*shown, *payloads) for text in (repr(item), str(item)))
    yield render_masked(definition.table)
    yield from (create_table_statement(entry, "app"), create_view_statement(entry), select_statement(entry))
    yield from map(str, check_table(definition, SCHEMA))
    for payload in filter(None, payloads):
        if any(option.type == "Map" for option in payload.format.options):
            registry = declare_registry_options(payload.format.identifier, "AVRO", "")
            yield attempt(lambda: registry_settings(registry, payload.options))  # noqa: B023


@SECRET
def test_tables(secret: PlantedSecret, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    table = parse_create(secret.statement)
    outputs = [repr(table), repr(parse_declaration(secret.statement))]
    if secret.is_rejected:
        outputs.append(attempt(lambda: validate_table(table)))
        assert "Traceback" in outputs[-1]
    else:
        outputs += describe(validate_table(table))
    assert not [text for text in (*outputs, caplog.text) if secret.is_in(text)]


@SECRET
def test_wrong_options_beside_a_secret(secret: PlantedSecret, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    right = secret.options
    wrong = [
        {**right, "topik": "x"},
        {**right, "scan.startup.mode": "sometimes"},
        {**right, "connector": "kafak"},
        {**right, "value.format": "jsno", "format": "jsno"},
        {**right, "properties.linger.ms": "soon"},
        {**right, "properties.security.protocol": "TLS"},
        {**right, "properties.sasl.pasword": secret.value},
        {key: value for key, value in right.items() if key not in ("topic", "properties.bootstrap.servers")},
    ]
    outputs = [attempt(lambda: validate_table(parse_create(create_statement(o)))) for o in wrong]  # noqa: B023
    both = f"{sql_options(right)}, {sql_options({secret.key: 'x'})}"
    outputs.append(attempt(lambda: parse_create(f"CREATE TABLE t (a STRING) WITH ({both})")))
    assert all("Traceback" in text for text in outputs)
    misspelled = {**right, f"{secret.key}x": secret.value}
    outputs.append(attempt(lambda: validate_table(parse_create(create_statement(misspelled)))))
    assert not [text for text in (*outputs, caplog.text) if secret.is_in(text)]


@SECRET
def test_statements_that_change_a_table(secret: PlantedSecret) -> None:
    table = parse_create(secret.statement)
    option, servers = sql_options({secret.key: secret.value}), sql_options({"properties.bootstrap.servers": "other:1"})
    outputs = [
        attempt(lambda: change(base, options))  # noqa: B023
        for change in (alter, use_hint, copy_table, add_by_like)
        for base, options in ((PLAIN, option), (table, option), (table, servers), (table, sql_options(secret.options)))
        if base is PLAIN or not secret.is_rejected
    ]
    statements = (
        f"SET '{secret.key}' = '{secret.value}'",
        f"INSERT INTO t /*+ OPTIONS({option}) */ SELECT * FROM u",
        f"EXPLAIN INSERT INTO t /*+ OPTIONS({option}) */ SELECT * FROM u",
        f"EXPLAIN SELECT * FROM t /*+ OPTIONS({option}) */",
        f"EXECUTE INSERT INTO t SELECT * FROM t /*+ OPTIONS({option}) */",
        f"INSERT INTO t SELECT * FROM t /*+ OPTIONS({option}) */",
        f"BEGIN STATEMENT SET; INSERT INTO t SELECT * FROM t /*+ OPTIONS({option}) */; END",
    )
    outputs += [repr(classify(statement)) for statement in statements]
    assert not [text for text in outputs if secret.is_in(text)]


@SECRET
def test_typos(secret: PlantedSecret) -> None:
    generator = random.Random(secret.name)
    others = {key: value for key, value in secret.companions.items() if key != secret.key}
    option = sql_options({secret.key: secret.value})
    statements: dict[str, Callable[[str], object]] = {
        create_statement({**others, secret.key: secret.value}): lambda sql: validate_table(parse_create(sql)),
        f"ALTER TABLE t SET ({option}, 'topic' = 'x')": parse_alteration,
        f"t /*+ OPTIONS('topic' = 'x', {option}) */": lambda sql: parse_hint(sql, 1),
    }
    for statement, parse in statements.items():
        for count in (1, 1, 1, 2):
            sql = make_typos(generator, statement, count, secret.marker)
            assert not secret.is_in(attempt(lambda: parse(sql))), sql  # noqa: B023
        for _ in range(20):
            sql = make_typos_around_option(generator, statement, 1, secret.key, secret.value)
            assert not secret.is_in(mask_statement(sql)), sql
            assert not secret.is_in(mask_syntax_error(f"{SPARK_ERROR}{sql}", "PARSE_SYNTAX_ERROR")), sql


def test_history_and_echo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = MaskedHistory(tmp_path / "history")
    engine = SimpleNamespace(tag=lambda *_: None)
    monkeypatch.setattr(runner, "engine_for", lambda _: engine)
    monkeypatch.setattr(runner, "run_interruptible", lambda _, work, *__: work())
    spark: Any = SimpleNamespace(sql=lambda _: SimpleNamespace(isStreaming=False, columns=[]))
    spark.conf = SimpleNamespace(get=lambda *_: "false")
    shell = runner.Runner(spark, Screen(), verbose=True)
    for secret in planted_secrets():
        for statement in (secret.statement, f"SET '{secret.key}' = '{secret.value}'"):
            history.store_string(statement)
            shell.run(statement)
    texts = ((tmp_path / "history").read_text(), *capsys.readouterr())
    assert [text.count("CREATE TABLE") for text in texts] == [len(planted_secrets()), len(planted_secrets()), 0]
    assert not [secret.name for secret in planted_secrets() if any(map(secret.is_in, texts))]


@SINGLE_SECRET
def test_set(secret: PlantedSecret) -> None:
    stored: dict[str, str] = {}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(set=stored.__setitem__), createDataFrame=lambda table: table)
    no_tables: Any = ()
    text = f"SET {sql_options({secret.key: secret.value})}"
    result: Any = dispatch(spark, no_tables, text, lambda _: pytest.fail("a query"))
    assert stored == {secret.key: secret.value}
    assert result.column_names == ["key", "value"]
    assert not secret.is_in(str(result.to_pylist()))


def test_the_catalog_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = FileCatalogStore(tmp_path / "tables")
    secrets = planted_secrets()
    tables = [*merged_tables(s for s in secrets if not s.is_rejected).values()]
    tables += [secret.options for secret in secrets if secret.is_rejected]
    for number, options in enumerate(tables):
        statement = render_create_table(parse_create(create_statement(options)))
        store.write(("default", f"t{number}"), statement)
        store.write(("default", f"wrong{number}"), statement.replace("'topic'", "'topik'"))
        store.write(("default", f"broken{number}"), statement.replace("WITH (", "WITH (("))
    with store.lock():
        pass
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.iterdir()}
    assert (stat.S_IMODE(store.path.stat().st_mode), set(modes.values())) == (0o700, {0o600})
    assert {name for name in modes if not name.endswith(".sql")} == {".lock"}

    def make_table(_: TableName, table: Table) -> CatalogTable:
        return catalog_table(validate_table(table))

    permanent = ApplicationTables()
    catalog: Any = SimpleNamespace(spark_sql=lambda _: None, put=lambda *_: None, remove=lambda _: None)
    CatalogSync(permanent, catalog, parse_create, render_create_table, make_table).attach(store)
    assert caplog.text.count(" is skipped: ") >= 2 * len(tables)
    assert not [secret.name for secret in secrets if secret.is_in(caplog.text)]


@SINGLE_SECRET
def test_references_are_resolved_only_when_a_client_is_created(
    secret: PlantedSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", secret.value)
    reference = {**secret.options, secret.key: "${env:PLANTED}"}
    definition = validate_table(parse_create(create_statement(reference)))
    tasks = (BatchReader(definition, SCHEMA), StreamReader(definition, SCHEMA), BatchWriter(definition))
    for item in (definition, catalog_table(definition).data_source, *tasks):
        assert not secret.is_in(cloudpickle.dumps(item))
    assert not [text for text in describe(definition) if secret.is_in(text)]


def test_requests_to_a_registry(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(str(self.headers))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    secrets = [s for s in planted_secrets() if s.key.startswith("avro-confluent.") and "ssl" not in s.key]
    secrets = [s for s in secrets if not s.is_rejected]
    texts: list[str] = []
    with serve(Handler) as address:
        for secret in secrets:
            options = {key: value.replace("127.0.0.1:1", address[7:]) for key, value in secret.options.items()}
            value = validate_table(parse_create(create_statement(options))).value
            settings = registry_settings(declare_registry_options("avro-confluent", "AVRO", ""), value.options)
            texts += [repr(settings), attempt(lambda: SchemaRegistry(settings).schema_by_id(1))]  # noqa: B023
            assert secret.is_in(received.pop())
    assert len(texts) >= 10
    assert not [s.name for s in secrets if any(map(s.is_in, (*texts, caplog.text)))]


def test_the_log_of_librdkafka(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = [s for s in planted_secrets() if s.key.startswith("properties.") and not s.is_rejected]
    for options in merged_tables(secrets).values():
        table = parse_create(create_statement({**options, "properties.debug": "all"}))
        producer, _ = open_client(Producer, validate_table(table).client_config)
        producer.poll(0)
    assert caplog.text.count("sasl.password = ") >= 1  # librdkafka logs the configuration
    assert not [s.name for s in secrets if s.is_in(caplog.text)]


def format_with(key: str) -> str:
    """Return a format that has an option, whose key has a placeholder for the format's identifier."""
    if key.startswith(f"{FORMAT}.properties."):
        return registry_formats()[0]
    keys = {name: [k for option in FORMATS[name].options for k in option.keys] for name in FORMATS}
    return next(name for name in FORMATS if key.replace(FORMAT, name) in keys[name])


@pytest.mark.parametrize("key", sorted(PUBLIC))
def test_passwords_in_urls(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    marker = make_marker(key)
    url = f"http://u:{marker}@h/x"
    name = format_with(key) if key.startswith(FORMAT) else "raw"
    options = {**TABLE, "format": name, key.replace(FORMAT, name): url}
    secret = PlantedSecret(key, url, marker, {}, key)
    table = parse_create(create_statement(options))
    outputs = [render_masked(table), mask_statement(create_statement(options)), attempt(lambda: validate_table(table))]
    if "Traceback" not in outputs[-1]:
        outputs += describe(validate_table(table))
    assert not [text for text in (*outputs, caplog.text) if secret.is_in(text)]
