"""INSERT in Spark's real-time mode: the same rows and payloads as in micro-batches, within milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from pyspark import __version__ as spark_version

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import CheckpointError, DecodeError, InvalidOptionError, KafkaSqlError, SchemaRegistryError
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.options.allow_lists import PATHS
from tests.certificates import create_authority, sign_certificate
from tests.registry_helpers import encode_avro, latest_version, register, run_registry_proxy
from tests.secured_broker import SecuredBroker
from tests.topics import Topics
from tests.unit.formats.protobuf.oracle import FILE
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]

MIN_BATCH = "spark.sql.streaming.realTimeMode.minBatchDuration"
COLUMNS = """b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), s STRING,
x BYTES, day DATE, t TIME(3), ts TIMESTAMP(3), ltz TIMESTAMP_LTZ(6), a ARRAY<INT>, m MAP<STRING, DOUBLE>,
r ROW<p STRING, q ARRAY<ROW<z BIGINT>>>"""
# what Flink's decoder accepts in each column
VALUES: dict[str, list[str]] = {
    "b": ["true", '"TRUE "', "0", '"yes"', "{}"],
    "i8": ["-128", '" +7"', "127"],
    "i16": ["32767", '"-5"'],
    "i": ["1", "1.9", "-1e3", '"12"', "2147483647.0"],
    "l": ["9223372036854775807", "1e18", "9.3e17", '"-9"'],
    "f": ["1.5", "3.4028236e38", '"NaN"', "16777217", "7.038531e-26", '"0x1p3"'],
    "d": ["0.1", '"Infinity"', '" 1e400"', "5e-324", '"1.5d"', "123456789012"],
    "n": ["1.005", "100", "-0.004", "99999999.99", "99999999.995", "1e-400", '"7"', "1e9"],
    "s": ['"\\u00e9\\ud83d\\ude00\\ud800\\n\\u0001"', "1.50", "true", '{"b": [1.0, 1e2, "x", null], "a": -0}', "[]"],
    "x": ['"aGk="', '"aGk= aGk="', '""'],
    "day": ['"2024-02-29"', '"-0044-03-15"', '"+12020-01-01"', '"1500-01-01"'],
    "t": ['"12:13:14.123456"', '"24:00:00"', '"00:00:00"'],
    "ts": [
        '"2023-02-30 00:00:00"',
        '"1969-12-31 23:59:59.999999999"',
        '"2020-01-01 24:00:00"',
        '"1500-01-01 00:00:00.5"',
    ],
    "ltz": ['"2020-12-30 12:13:14.123456Z"', '"0001-01-01 00:00:00Z"', '"+10000-01-01 00:00:00.100Z"'],
    "a": ["[1, 2.7, null]", "[]"],
    "m": ['{"k": 1, "k": 2, "j": null}', "{}"],
    "r": ['{"q": [{"z": "5"}, {}], "other": 1}', "{}", '{"p": 3}'],
}
PAYLOADS = [
    *(f'{{"{column}": {value}}}'.encode() for column, values in VALUES.items() for value in values),
    b'[{"i": 1}, null, {"i": 2}]',
    b'{"i": 3} trailing',
    b'\xef\xbb\xbf{"i": 4}',
    '{"i": 5}'.encode("utf-16"),
    b'{"i": 6, "s": "a\tb"}',
    b"",
    None,
    b"[]",
]
# records and fields that 'ignore-parse-errors' skips
INVALID = [
    b"{",
    b"7",
    b"\xff",
    b'{"s": "\xed\xa0\x80"}',
    b'{"i": "x", "s": "kept"}',
    b'{"i8": 200, "t": "25:00:00", "s": "kept"}',
    b'{"i": true, "n": {}, "day": "2023-02-30", "s": "kept"}',
    b'{"ltz": "2020-12-30 12:13:14", "s": "kept"}',
    b'{"x": "aGk", "a": [1, "x"], "m": [], "r": {"q": [{"z": []}]}, "s": "kept"}',
    b'[{"i": 1}, 2, {"i": 3}]',
    b"[" * 1001,
]


def start(spark: Any, sql: Any, insert: str) -> Any:
    (row,) = sql(insert).collect()
    return spark.streams.get(row[0])


def copy(spark: Any, sql: Any, topics: Topics, mode: str, insert: str, expected: int) -> list[tuple[Any, Any]]:
    """Return the keys and values that an INSERT INTO tgt writes in a latency mode."""
    target = topics.create()
    sql(f"SET 'execution.latency-mode' = '{mode}'")
    sql(f"SET 'pipeline.name' = '{mode}-{target}'")
    query = start(spark, sql, insert.replace("tgt", f"tgt /*+ OPTIONS('topic' = '{target}') */"))
    if mode == "micro-batch":
        query.processAllAvailable()
    messages = topics.consume(target, expected)
    query.stop()
    return [(m.key(), m.value()) for m in messages]


def parsed(records: list[tuple[Any, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(None if part is None else json.loads(part) for part in record) for record in records]


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param(
            {"json.ignore-parse-errors": "true", "json.encode.ignore-null-fields": "true"}, marks=pytest.mark.long
        ),
    ],
)
def test_values_are_those_of_micro_batches(
    spark: Any, streaming: Any, topics: Topics, request: pytest.FixtureRequest, options: dict[str, str]
) -> None:
    source = topics.create()
    request.addfinalizer(lambda: spark.conf.unset("spark.sql.timeType.enabled"))
    spark.conf.set("spark.sql.timeType.enabled", "true")
    streaming(f"CREATE TABLE src ({COLUMNS}) {topics.with_options(source, **options)}")
    streaming(f"CREATE TABLE tgt ({COLUMNS}) {topics.with_options(topics.create(), **options)}")
    payloads = [*PAYLOADS, *(INVALID if options else [])]
    topics.produce(source, *payloads, b'{"s": "last"}')
    expected = len(PAYLOADS) - 3 + 1 + 1 + (7 if options else 0)
    micro = copy(spark, streaming, topics, "micro-batch", "INSERT INTO tgt SELECT * FROM src", expected)
    real = copy(spark, streaming, topics, "real-time", "INSERT INTO tgt SELECT * FROM src", expected)
    assert parsed(real) == parsed(micro)
    assert json.loads(real[-1][1])["s"] == "last"


def test_keys_metadata_computed_columns_and_restarts(
    spark: Any, real_time: Any, topics: Topics, tmp_path: Path
) -> None:
    source, target = topics.create(2), topics.create()
    keys = {"key.format": "json", "key.fields": "k_id", "key.fields-prefix": "k_", "value.fields-include": "EXCEPT_KEY"}
    startup = {
        "properties.group.id": f"group-{source}",
        "scan.startup.mode": "specific-offsets",
        "scan.startup.specific-offsets": "partition:0,offset:1;partition:1,offset:0",
    }
    real_time(
        "CREATE TABLE src (k_id INT, v STRING, part INT METADATA FROM 'partition', pos BIGINT METADATA FROM 'offset', "
        "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', kind STRING METADATA FROM 'timestamp-type', "
        "u AS PRINTF('%S', v), h AS HOUR(TO_TIMESTAMP_LTZ(k_id, 0)), tags ARRAY<STRING>) "
        + topics.with_options(source, **keys, **startup)
    )
    real_time("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    real_time(f"CREATE TABLE tgt (k_id INT, line STRING, ts TIMESTAMP(3)) {topics.with_options(target, **keys)}")
    insert = """INSERT INTO tgt SELECT k_id, concat_ws(' ', u, h, tag, part, pos, kind), to_timestamp_ntz('2020-01-01')
        FROM src LATERAL VIEW explode(tags) AS tag WHERE v <> 'skip'"""
    topics.produce(source, b'{"v": "before"}', key=b'{"id": 1}')
    topics.produce(source, b'{"v": "a", "tags": ["x", "y"]}', b'{"v": "skip", "tags": ["x"]}', key=b'{"id": 2}')
    topics.produce(source, b'{"v": "no key"}', partition=1)
    query = start(spark, real_time, insert)
    topics.consume(target, 2)
    with cached_cluster(topics.client()) as cluster:
        partitions = [(source, 0), (source, 1)]
        expected = {(source, 0): 3, (source, 1): 1}
        wait_until(lambda: cluster.committed(f"group-{source}", partitions) == expected, "the offsets are committed")
    (job,) = real_time("SHOW JOBS EXTENDED").collect()[-1:]
    assert (job["rows"], job["pending records"], job["commits failed"]) == (3, 0, 0)
    assert real_time("SHOW JOBS").collect()[-1]["lag"] == 0
    query.stop()
    topics.produce(source, b'{"v": "b", "tags": ["z"]}', partition=1, key=b'{"id": 3}')
    query = start(spark, real_time, insert)  # resumes from its checkpoint
    records = topics.consume(target, 3)
    query.stop()
    assert [(m.key(), json.loads(m.value())["line"]) for m in records] == [
        (b'{"id":2}', "A 9 x 0 1 CreateTime"),
        (b'{"id":2}', "A 9 y 0 1 CreateTime"),
        (b'{"id":3}', "B 9 z 1 1 CreateTime"),
    ]
    assert json.loads(records[0].value())["ts"] == "2020-01-01 00:00:00"
    real_time("SET 'execution.latency-mode' = 'micro-batch'")
    with pytest.raises(CheckpointError, match="in real-time mode"):
        real_time(insert)


@pytest.mark.long
def test_an_interrupted_batch_is_repeated(spark: Any, real_time: Any, topics: Topics, tmp_path: Path) -> None:
    """The end offsets of a batch are stored when it ends. A query that is stopped before reads its records again."""
    source, target = topics.create(), topics.create()
    real_time("SET 'execution.checkpointing.interval' = '1 min'")
    options = {"scan.startup.mode": "latest-offset"}
    real_time(f"CREATE TABLE src (a INT) {topics.with_options(source, **options)}")
    real_time(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 0}')
    query = start(spark, real_time, "INSERT INTO tgt SELECT a FROM src")
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')
    topics.consume(target, 2)
    query.stop()
    topics.produce(source, b'{"a": 3}')
    query = start(spark, real_time, "INSERT INTO tgt SELECT a FROM src")
    records = topics.consume(target, 5)
    query.stop()
    assert [json.loads(m.value())["a"] for m in records] == [1, 2, 1, 2, 3]
    files = {file.name for file in tmp_path.glob("*/*")}
    assert "metadata" in files
    assert ".metadata.crc" not in files  # Hadoop's local file system would write a checksum


@pytest.mark.long
def test_joins_with_tables(spark: Any, real_time: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    names = spark.createDataFrame([(1, "one"), (2, "two"), (2, "zwei")], "id INT, name STRING")
    names.write.parquet(str(tmp_path / "names"))
    real_time(f"CREATE TEMPORARY VIEW names USING parquet OPTIONS (path '{tmp_path / 'names'}')")
    real_time(
        "CREATE TABLE src (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
        f"{topics.with_options(source)}"
    )
    real_time(f"CREATE TABLE tgt (a INT, name STRING, kind STRING) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1, "ts": "2024-01-02 00:00:00"}', b'{"a": 2, "ts": "2024-01-01 00:00:00"}')
    topics.produce(source, b'{"a": 3}', b'{"a": 4}', b'{"a": 5}')
    insert = """INSERT INTO tgt SELECT a, name, kind FROM src LEFT JOIN names ON a = id
        JOIN VALUES (1, 'low'), (2, 'low'), (3, 'high'), (5, NULL) AS t(x, kind) ON x = a"""
    query = start(spark, real_time, insert)
    records = topics.consume(target, 5)
    query.stop()
    rows = sorted(tuple(json.loads(m.value()).values()) for m in records if b"null" not in m.value())
    assert rows == [(1, "one", "low"), (2, "two", "low"), (2, "zwei", "low")]
    assert [m.value() for m in records if b"null" in m.value()] == [
        b'{"a":3,"name":null,"kind":"high"}',
        b'{"a":5,"name":null,"kind":null}',
    ]


@pytest.mark.long
def test_joins_with_kafka_tables(spark: Any, real_time: Any, topics: Topics) -> None:
    """The table is read again when a batch starts."""
    source, names, target = topics.create(), topics.create(2), topics.create()
    real_time(f"CREATE TABLE src (a INT, p AS PROCTIME()) {topics.with_options(source)}")
    real_time(
        f"CREATE TABLE names (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) {topics.with_upsert_options(names)}"
    )
    real_time(f"CREATE TABLE tgt (a INT, name STRING) {topics.with_options(target)}")
    topics.produce(names, b'{"id": 1, "name": "old"}', b'{"id": 1, "name": "one"}', key=b'{"id": 1}')
    topics.produce(names, b'{"id": 2, "name": "two"}', None, key=b'{"id": 2}', partition=1)
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')
    insert = "INSERT INTO tgt SELECT a, name FROM src LEFT JOIN names FOR SYSTEM_TIME AS OF src.p ON a = id"
    query = start(spark, real_time, insert)
    assert [m.value() for m in topics.consume(target, 2)] == [b'{"a":1,"name":"one"}', b'{"a":2,"name":null}']
    assert spark.conf.get("spark.sql.streaming.realTimeMode.allowlistCheck") == "true"
    topics.produce(names, b'{"id": 2, "name": "zwei"}', key=b'{"id": 2}', partition=1)
    copies = 2

    def joins_new_row() -> bool:
        nonlocal copies
        copies += 1
        topics.produce(source, b'{"a": 2}')
        return bool(topics.consume(target, copies)[-1].value() == b'{"a":2,"name":"zwei"}')

    wait_until(joins_new_row, "a batch joins the new row")
    query.stop()


@pytest.mark.long
def test_schemas_of_a_registry(spark: Any, real_time: Any, topics: Topics, registry: EmbeddedRegistry) -> None:
    """A new schema can appear while the query runs. Only the driver sends requests, with the credentials."""
    source, target = topics.create(), topics.create()
    keys = {"key.format": "json-confluent", "key.fields": "k_id", "key.fields-prefix": "k_"}
    keys["value.fields-include"] = "EXCEPT_KEY"
    columns = "k_id INT, b BIGINT, s STRING"
    with run_registry_proxy(registry.url) as (url, proxy):
        proxy.expected_authorization = "Basic dXNlcjpTM2NyM3QtdmFsdWU="
        registries = ("avro-confluent", "key.json-confluent")
        options = {"format": "avro-confluent", **keys, **{f"{name}.url": url for name in registries}}
        options |= {f"{name}.basic-auth.user-info": "user:S3cr3t-value" for name in registries}
        metadata = "id INT METADATA FROM 'value.schema-id', subject STRING METADATA FROM 'value.subject'"
        real_time(f"CREATE TABLE src ({columns}, {metadata}) {topics.with_options(source, **options)}")
        real_time(f"CREATE TABLE tgt ({columns}) {topics.with_options(target, **options)}")
        insert = "INSERT INTO tgt SELECT k_id, b, concat_ws(' ', s, id, subject) FROM src"
        fields = [{"name": "b", "type": "long"}]
        schemas = [
            {"type": "record", "name": "R", "fields": fields + more} for more in ([], [{"name": "s", "type": "string"}])
        ]
        key = b'\0\0\0\0\1{"id": 7}'

        def produce(k: int, row: dict[str, Any]) -> int:
            number = register(registry, f"{source}-value", schemas[k])
            topics.produce(source, encode_avro(number, schemas[k], row), key=key)
            return number

        produce(0, {"b": 1})
        query = start(spark, real_time, insert)
        topics.consume(target, 1)
        schema_id = produce(1, {"b": 2, "s": "é"})
        produce(0, {"b": 3})
        records = topics.consume(target, 3)
        execution = query._jsq.streamingQuery().lastExecution()
        assert "S3cr3t-value" not in execution.toString() + execution.executedPlan().treeString()
        copied = copy(spark, real_time, topics, "micro-batch", insert, 3)
        topics.produce(source, b"\0\xff\0\0\0", key=key)
        wait_until(lambda: not query.isActive, "the query has failed")
        error = str(query.exception())
        assert f"{source}[0]@3: [SCHEMA_NOT_FOUND] The schema registry {url}: schema id 4278190080 not found" in error
        proxy.expected_authorization = "another"
        real_time("SET 'pipeline.name' = 'rejected'")
        real_time("SET 'execution.latency-mode' = 'real-time'")
        with pytest.raises(SchemaRegistryError, match="rejected the credentials"):
            real_time(insert.replace("tgt", f"tgt /*+ OPTIONS('topic' = '{topics.create()}') */"))
    written = latest_version(registry, f"{target}-value")
    number = latest_version(registry, f"{target}-key")["id"]
    assert [(m.key()[5:], m.value()[5:]) for m in records] == [(key[5:], value[5:]) for key, value in copied]
    assert records[1].key() == b"\0" + number.to_bytes(4, "big") + b'{"id":7}'
    row = {"b": 2, "s": f"é {schema_id} {source}-value"}
    assert records[1].value() == encode_avro(written["id"], json.loads(written["schema"]), row)


@pytest.mark.long
def test_messages_of_protobuf(spark: Any, streaming: Any, topics: Topics, registry: EmbeddedRegistry) -> None:
    """Keys of a descriptor file and values of a registry are copied as they are."""
    middle = topics.create()
    file = {"protobuf.message-class-name": "shop.Line", "protobuf.descriptor-file": str(FILE)}
    options = {"key.format": "protobuf", "key.fields": "k_sku", "key.fields-prefix": "k_"}
    options |= {"value.fields-include": "EXCEPT_KEY", **{f"key.{key}": value for key, value in file.items()}}
    options |= {"format": "protobuf-confluent", "protobuf-confluent.url": registry.url}
    columns = "k_sku STRING, price DOUBLE, tags ARRAY<STRING>, qty INT"
    for name in ("src", "tgt"):
        streaming(f"CREATE TABLE {name} ({columns}) {topics.with_options(middle, **options)}")
    streaming("SET 'execution.runtime-mode' = 'batch'")
    streaming("INSERT INTO src VALUES ('é', 1.0, ARRAY('a', ''), NULL), ('7', 0.0, NULL, 7)")
    streaming("SET 'execution.runtime-mode' = 'streaming'")
    written = sorted((m.key(), m.value()) for m in topics.consume(middle, 2))
    number = latest_version(registry, f"{middle}-value")["id"].to_bytes(4, "big")
    assert written[0] == (b"\x0a\x017", b"\0" + number + b"\0\x09" + bytes(8) + b"\x18\x07")
    copied = sorted(copy(spark, streaming, topics, "real-time", "INSERT INTO tgt SELECT * FROM src", 2))
    assert [(key, value[5:]) for key, value in copied] == [(key, value[5:]) for key, value in written]


def test_undecodable_records_fail_the_query(spark: Any, real_time: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    real_time(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    real_time(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}', b'{"a": "x"}', b'{"a": 2}')
    query = start(spark, real_time, "INSERT INTO tgt SELECT a FROM src")
    wait_until(lambda: not query.isActive, "the query has failed")
    error = query.exception()
    assert isinstance(error, DecodeError)
    assert f"{source}[0]@1, field 'a': found \"x\", expected INT" in str(error)
    assert "'error-handling.mode' = 'ignore'" in str(error)
    copied = topics.create()
    real_time("SET 'pipeline.name' = 'tolerant'")
    options = "'error-handling.mode' = 'ignore'"
    insert = f"INSERT INTO tgt /*+ OPTIONS('topic' = '{copied}') */ SELECT a FROM src /*+ OPTIONS({options}) */"
    query = start(spark, real_time, insert)
    assert [json.loads(m.value())["a"] for m in topics.consume(copied, 2)] == [1, 2]
    query.stop()


@pytest.mark.long
@pytest.mark.parametrize(("listener", "mechanism"), [("BOTH", "SCRAM-SHA-512"), ("MTLS", "")])
def test_secured_brokers(
    spark: Any,
    real_time: Any,
    secured: SecuredBroker,
    listener: str,
    mechanism: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if listener == "MTLS":
        monkeypatch.setenv(PATHS, "/")  # executors get the contents of the stores
    source, target = secured.topics.create(), secured.topics.create()
    user = "user" if mechanism else "CN=user"
    for topic, operation in ((source, AclOperation.READ), (target, AclOperation.WRITE)):
        secured.allow(user, ResourceType.TOPIC, topic, operation)
    properties = secured.properties(listener, mechanism)
    real_time(f"CREATE TABLE src (a INT) {secured.table(properties, source)}")
    real_time(f"CREATE TABLE tgt (a INT) {secured.table(properties, target)}")
    secured.topics.produce(source, b'{"a": 1}', b'{"a": -1}', b'{"a": 2}')
    try:
        query = start(spark, real_time, "INSERT INTO tgt SELECT a FROM src WHERE a > 0")
        records = secured.topics.consume(target, 2)
        query.stop()
    finally:
        secured.revoke_all(user)
    assert [m.value() for m in records] == [b'{"a":1}', b'{"a":2}']


def test_batches_have_a_minimum_duration(spark: Any, real_time: Any, topics: Topics) -> None:
    spark.conf.unset(MIN_BATCH)
    real_time(f"CREATE TABLE src (a INT) {topics.with_options(topics.create())}")
    with pytest.raises(InvalidOptionError, match="is 1000 ms, but a batch of real-time mode takes at least 5000 ms"):
        real_time("INSERT INTO src SELECT a FROM src")


def test_secrets_appear_in_no_plan(spark: Any, real_time: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    secret = "S3cr3t-value"  # of properties that an unsecured connection does not use
    identity = sign_certificate(create_authority("ca"), "me")
    secrets = [secret, *identity.key().splitlines()[1:-1]]
    options = {
        "properties.ssl.keystore.key": identity.key(),
        "properties.ssl.keystore.certificate.chain": identity.chain,
        "properties.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="u" password="{secret}";',
        "properties.ssl.truststore.password": secret,
    }
    with_options = topics.with_options(source, **options)
    real_time(f"CREATE TABLE src (a INT) {with_options}")
    real_time(f"CREATE TABLE tgt (a INT) {topics.with_options(target, **options)}")
    topics.produce(source, b'{"a": 1}')
    explained = real_time("EXPLAIN EXTENDED INSERT INTO tgt SELECT a FROM src").collect()[0][0]
    query = start(spark, real_time, "INSERT INTO tgt SELECT a FROM src")
    topics.consume(target, 1)
    execution = query._jsq.streamingQuery().lastExecution()
    texts = [explained, execution.toString(), execution.logical().toString(), execution.executedPlan().treeString()]
    texts += [query._jsq.toString(), str(query.lastProgress), str(query.status)]
    query.stop()
    assert not any(secret in text for secret in secrets for text in texts)
    assert "KafkaTable" in texts[1] or "kafka" in texts[1]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("query", "target", "expected"),
    [
        ("SELECT a FROM src GROUP BY a", {}, "an aggregate"),
        ("SELECT DISTINCT a FROM src", {}, "DISTINCT"),
        ("SELECT a FROM src JOIN VALUES (1) AS t(x) ON a > x", {}, "a join without an equality"),
        (
            "SELECT a FROM src RIGHT JOIN VALUES (1) AS t(x) ON a = x",
            {},
            "a RIGHT OUTER JOIN",
        ),
        ("SELECT a FROM src JOIN (SELECT max(x) AS x FROM VALUES (1) AS t(x)) ON a = x", {}, "HashAggregateExec"),
        ("SELECT l.a FROM src AS l JOIN src AS r ON l.a = r.a", {}, "a join of two streams"),
        ("SELECT a FROM src WHERE a IN (SELECT 1)", {}, "a subquery"),
        ("SELECT plus_one(a) FROM src", {}, "a Python function"),
        ("SELECT a FROM src LIMIT 1", {}, "LIMIT"),
        ("SELECT a FROM src /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */", {}, "'scan.bounded.mode'"),
        ("SELECT a FROM src", {"format": "ogg-json"}, "a changelog"),
        (
            "SELECT a FROM src",
            {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"},
            "'sink.delivery-guarantee' = 'exactly-once'",
        ),
    ],
)
def test_rejects_what_real_time_mode_does_not_support(
    spark: Any, real_time: Any, topics: Topics, query: str, target: dict[str, str], expected: str
) -> None:
    spark.udf.register("plus_one", lambda a: a + 1, "int")
    real_time(f"CREATE TABLE src (a INT, p AS PROCTIME()) {topics.with_options(topics.create())}")
    real_time(f"CREATE TABLE tgt (a INT) {topics.with_options(topics.create(), **target)}")
    with pytest.raises(KafkaSqlError, match="real-time mode") as raised:
        real_time(f"INSERT INTO tgt {query}")
    assert expected in str(raised.value)
    assert spark.streams.active == []


@pytest.mark.long
def test_headers_are_read_and_written(spark: Any, streaming: Any, topics: Topics) -> None:
    source = topics.create()
    streaming(
        "CREATE TABLE src (a INT, h MAP<STRING, BYTES> METADATA FROM 'headers', "
        f"l ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list') {topics.with_options(source)}"
    )
    streaming(
        "CREATE TABLE tgt (a INT, l ARRAY<ROW<`key` STRING, `value` BYTES>>, h MAP<STRING, BYTES> METADATA FROM "
        f"'headers') {topics.with_options(topics.create())}"
    )
    for headers in ([("k", b"1"), ("j", None), ("k", b"2"), ("", b"")], []):
        topics.produce(source, b'{"a": 1}', headers=headers)
    written = []
    for mode in ("micro-batch", "real-time"):
        target = topics.create()
        streaming(f"SET 'execution.latency-mode' = '{mode}'")
        streaming(f"SET 'pipeline.name' = '{mode}'")
        hint = f"/*+ OPTIONS('topic' = '{target}') */"
        query = start(spark, streaming, f"INSERT INTO tgt {hint} (a, l, h) SELECT a, l, h FROM src")
        if mode == "micro-batch":
            query.processAllAvailable()
        messages = topics.consume(target, 2)
        query.stop()
        written.append([(json.loads(m.value()), sorted(m.headers() or [], key=str)) for m in messages])
    assert written[0] == written[1]
    assert written[1][0][1] == [("", b""), ("j", None), ("k", b"2")]
    assert [h["key"] for h in written[1][0][0]["l"]] == ["k", "j", "k", ""]
    assert written[1][1] == ({"a": 1, "l": []}, [])
