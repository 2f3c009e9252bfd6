"""Test streams over several clusters in memory: new and removed clusters, limits, commits, and metadata services."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.checks.table import check_table
from kafka_sql.definition import Definition
from kafka_sql.errors import (
    BrokerUnreachableError,
    KafkaSqlError,
    MetadataServiceError,
    OffsetError,
    UnknownOptionError,
)
from kafka_sql.kafka.split import Split
from kafka_sql.source.client_config import task_client_config
from kafka_sql.source.dynamic import clusters as module
from kafka_sql.source.enumerator.splits import plan_batch
from kafka_sql.source.stream import micro_batch
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.stream_offset import StreamOffset, from_json, to_json
from tests.unit.source.fake_cluster import FakeCluster, Log, define

A, B = ("a/t", 0), ("b/t", 0)
STREAMS: dict[str, Any] = {}
CALLS: list[tuple[list[str] | None, dict[str, str]]] = []
Ranges = list[tuple[str, str, int, int]]


def service(stream_ids: list[str] | None, properties: dict[str, str]) -> Any:
    """Return the streams of the test."""
    CALLS.append((stream_ids, properties))
    if "error" in STREAMS:
        raise STREAMS["error"]
    return STREAMS.get("result", STREAMS)


def cluster(name: str, *topics: str, **properties: str) -> dict[str, Any]:
    settings = {"bootstrap.servers": f"{name}:1", **{k.replace("_", "."): v for k, v in properties.items()}}
    return {name: {"topics": list(topics) or ["t"], "properties": settings}}


def define_dynamic(**options: str) -> Definition:
    defaults = {
        "connector": "dynamic-kafka",
        "topic": "",
        "stream__ids": "s",
        "metadata__service": f"{__name__}:service",
        "stream__metadata__discovery__interval__ms": "1",
        "properties_bootstrap_servers": "",
    }
    return define(**{**defaults, **options})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Monotonic seconds, which each call advances."""
    now = [0.0]

    def advance() -> float:
        now[0] += 1
        return now[0]

    original = module.Clusters.__init__
    monkeypatch.setattr(module.Clusters, "__init__", lambda self, *args: original(self, *args, advance))
    return now


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> dict[str, FakeCluster]:
    """Clusters a and b with a topic t; the service returns a."""
    CALLS.clear()
    STREAMS.clear()
    STREAMS["s"] = cluster("a")
    fakes = {name: FakeCluster({("t", 0): Log(0, end)}) for name, end in (("a", 10), ("b", 20))}

    def open_fake(config: Mapping[str, str]) -> FakeCluster:
        return fakes[config["bootstrap.servers"].partition(":")[0]]

    @contextmanager
    def lease(config: Mapping[str, str]) -> Iterator[FakeCluster]:
        yield open_fake(config)

    monkeypatch.setattr(micro_batch, "Cluster", open_fake)
    monkeypatch.setattr(module, "cached_cluster", lease)
    return fakes


def ranges(splits: Any) -> Ranges:
    return [(s.cluster.id, s.topic, s.start, s.stop) for s in splits]


def run_batch(stream: MicroBatchStream, start: StreamOffset) -> tuple[StreamOffset, Ranges]:
    """Plan a batch, with offsets that were in a checkpoint."""
    end = from_json(to_json(stream.latest_offset(start, is_limited=True)))
    return end, ranges(stream.plan_splits(start, end))


def test_a_batch_has_the_splits_of_all_clusters(fakes: dict[str, FakeCluster]) -> None:
    STREAMS["s"] = cluster("a", ssl_key_password="word") | cluster("b")
    definition = define_dynamic(properties_client_id="mine", client_id_prefix="p")
    splits = plan_batch(definition)
    assert ranges(splits) == [("a", "t", 0, 10), ("b", "t", 0, 20)]
    assert splits[0].describe_offset(3) == "a/t[0]@3"
    assert "word" not in repr(splits)
    assert splits[0].cluster is not None
    assert splits[0].cluster.config["ssl.key.password"] == "word"
    config = task_client_config(definition, 7, splits[1].cluster)
    assert (config["client.id"], config["bootstrap.servers"]) == ("p-b-7", "b:1")
    assert CALLS == [(["s"], {"client.id": "mine"})]


def test_a_new_cluster_starts_at_the_startup_mode_and_a_new_topic_at_its_first_record(
    fakes: dict[str, FakeCluster],
) -> None:
    stream = MicroBatchStream(define_dynamic(scan_startup_mode="latest-offset"))
    first, splits = run_batch(stream, stream.initial_offset())
    assert (first.offsets, splits) == ({A: 10}, [])
    fakes["a"].logs["u", 0] = Log(2, 5)
    STREAMS["s"] = cluster("a", "t", "u") | cluster("b")
    second, splits = run_batch(stream, first)
    assert splits == [("a", "u", 2, 5)]
    assert second == StreamOffset({A: 10, ("a/u", 0): 5, B: 20}, {("a/u", 0): 2, B: 20})
    fakes["b"].logs["t", 0].end = 21
    third, splits = run_batch(stream, second)
    assert splits == [("b", "t", 20, 21)]
    assert run_batch(stream, third)[0] == third


def test_a_removed_cluster_is_dropped_and_new_if_it_returns(
    fakes: dict[str, FakeCluster], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    STREAMS["s"] = cluster("a") | cluster("b")
    stream = MicroBatchStream(define_dynamic())
    first, splits = run_batch(stream, stream.initial_offset())
    assert splits == [("a", "t", 0, 10), ("b", "t", 0, 20)]
    STREAMS["s"] = cluster("b")
    second, splits = run_batch(stream, first)
    assert (second.offsets, splits) == ({B: 20}, [])
    messages = [record.getMessage() for record in caplog.records]
    assert "table 'db.orders': topics a/t of the metadata service are no longer read" in messages
    STREAMS["s"] = cluster("a") | cluster("b")
    third, splits = run_batch(stream, second)
    assert splits == [("a", "t", 0, 10)]
    # after a restart, a batch that is repeated skips a cluster that was removed in between
    STREAMS["s"] = cluster("b")
    assert ranges(MicroBatchStream(define_dynamic()).plan_splits(second, third)) == []


def test_a_restart_continues_each_cluster(fakes: dict[str, FakeCluster]) -> None:
    STREAMS["s"] = cluster("a") | cluster("b")
    stream = MicroBatchStream(define_dynamic())
    first, _ = run_batch(stream, stream.initial_offset())
    fakes["a"].logs["t", 0].end = 12
    second, splits = run_batch(MicroBatchStream(define_dynamic()), first)
    assert (second.offsets, splits) == ({A: 12, B: 20}, [("a", "t", 10, 12)])


def test_a_recreated_topic_and_the_checkpoint_of_another_connector_are_errors(fakes: dict[str, FakeCluster]) -> None:
    fakes["a"].ids["t"] = "1"
    stream = MicroBatchStream(define_dynamic())
    first, _ = run_batch(stream, stream.initial_offset())
    assert first.ids == {"a/t": "1"}
    fakes["a"].ids["t"] = "2"
    with pytest.raises(OffsetError, match=r"a/t\[0\]@10: cannot resume .* the topic has another id"):
        MicroBatchStream(define_dynamic()).latest_offset(first, is_limited=True)
    with pytest.raises(OffsetError, match="offsets of topic 't' without a cluster"):
        MicroBatchStream(define_dynamic()).latest_offset(StreamOffset({("t", 0): 3}), is_limited=True)


def test_limits_apply_to_all_clusters_together(fakes: dict[str, FakeCluster]) -> None:
    STREAMS["s"] = cluster("a") | cluster("b")
    stream = MicroBatchStream(define_dynamic(scan_max__offsets__per__trigger="3"))
    _, splits = run_batch(stream, stream.initial_offset())
    assert splits == [("a", "t", 0, 1), ("b", "t", 0, 2)]


def test_offsets_are_committed_in_each_cluster(fakes: dict[str, FakeCluster]) -> None:
    STREAMS["s"] = cluster("a") | cluster("b")
    options = {"properties_group_id": "g", "scan_startup_mode": "group-offsets"}
    fakes["a"].group_offsets["g"], fakes["b"].group_offsets["g"] = {("t", 0): 4}, {("t", 0): 5}
    stream = MicroBatchStream(define_dynamic(**options))
    end, splits = run_batch(stream, stream.initial_offset())
    assert splits == [("a", "t", 4, 10), ("b", "t", 5, 20)]
    stream.commit(end)
    stream.stop()
    assert [fake.commits for fake in fakes.values()] == [[("g", {("t", 0): 10})], [("g", {("t", 0): 20})]]


def test_a_running_stream_ignores_failures_up_to_the_threshold(fakes: dict[str, FakeCluster]) -> None:
    options = {"stream__metadata__discovery__failure__threshold": "2", "properties_ssl_key_password": "secret-word"}
    stream = MicroBatchStream(define_dynamic(**options))
    first, _ = run_batch(stream, stream.initial_offset())
    STREAMS["error"] = RuntimeError("offline, password secret-word")
    for _ in range(2):
        assert stream.latest_offset(first, is_limited=True) is first
    with pytest.raises(MetadataServiceError, match=r"streams failed.*raised RuntimeError: offline") as raised:
        stream.latest_offset(first, is_limited=True)
    assert "secret-word" not in str(raised.value)
    assert raised.value.__cause__ is None
    with pytest.raises(MetadataServiceError):
        MicroBatchStream(define_dynamic(**options)).initial_offset()


def test_without_an_interval_the_service_is_called_once(fakes: dict[str, FakeCluster]) -> None:
    stream = MicroBatchStream(define_dynamic(stream__metadata__discovery__interval__ms="-1"))
    first, _ = run_batch(stream, stream.initial_offset())
    STREAMS["s"] = cluster("b")
    assert stream.latest_offset(first, is_limited=True) is first
    assert len(CALLS) == 1


def test_an_unreachable_cluster_may_have_been_removed(
    fakes: dict[str, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    STREAMS["s"] = cluster("a") | cluster("b")
    stream = MicroBatchStream(define_dynamic(stream__metadata__discovery__interval__ms="-1"))
    first, _ = run_batch(stream, stream.initial_offset())

    def unreachable(*_: object) -> Any:
        raise BrokerUnreachableError("no response")

    monkeypatch.setattr(fakes["a"], "request_offsets", unreachable)
    with pytest.raises(BrokerUnreachableError, match="Cluster 'a': no response"):
        stream.latest_offset(first, is_limited=True)
    STREAMS["s"] = cluster("b")
    assert stream.latest_offset(first, is_limited=True).offsets == {B: 20}


def test_a_query_needs_all_streams_only_when_it_starts(fakes: dict[str, FakeCluster]) -> None:
    two = define_dynamic(stream__ids="s;gone")
    for start in (lambda: MicroBatchStream(two).initial_offset(), lambda: plan_batch(two)):
        with pytest.raises(MetadataServiceError, match="does not know stream 'gone' of option 'stream-ids'"):
            start()
    assert MicroBatchStream(two).latest_offset(StreamOffset({A: 3}), is_limited=True).offsets == {A: 10}


def test_a_pattern_is_found_in_the_ids_of_streams(fakes: dict[str, FakeCluster]) -> None:
    STREAMS.update({"my-s": cluster("b"), "other": cluster("b", "ignored")})
    assert ranges(plan_batch(define_dynamic(stream__ids="", stream__pattern="s$"))) == [
        ("a", "t", 0, 10),
        ("b", "t", 0, 20),
    ]
    assert CALLS == [(None, {})]


def test_a_stopped_bounded_stream_does_not_discover_clusters(fakes: dict[str, FakeCluster]) -> None:
    stream = MicroBatchStream(define_dynamic(scan_bounded_mode="latest-offset"))
    first, splits = run_batch(stream, stream.initial_offset())
    assert splits == [("a", "t", 0, 10)]
    STREAMS["s"] = cluster("a") | cluster("b")
    fakes["a"].logs["t", 0].end = 11
    assert stream.latest_offset(first, is_limited=True) is first
    assert len(CALLS) == 1


def test_the_check_of_a_table_lists_the_topics_of_all_clusters(fakes: dict[str, FakeCluster]) -> None:
    STREAMS["s"] = cluster("a") | cluster("b")
    (finding,) = check_table(define_dynamic(), pa.schema([]))
    assert (finding.ok, finding.message) == (True, "2 partitions of a/t, b/t")
    (finding,) = check_table(define_dynamic(stream__ids="gone"), pa.schema([]))
    assert finding.ok is False
    assert "does not know stream 'gone'" in finding.message


PASSWORD = {"ssl.key.password": "secret-word", "bootstrap.servers": "a:1"}
INVALID: list[tuple[Any, type[KafkaSqlError], str]] = [
    ([], MetadataServiceError, "returned list for the streams. Expected a mapping from the id of each stream"),
    ({"s": None}, MetadataServiceError, "returned NoneType for stream 's'"),
    ({"s": {"": {}}}, MetadataServiceError, "Expected a mapping from the id of each cluster"),
    ({"s": {"a": {"topics": ["t"]}}}, MetadataServiceError, "returned 'topics' for cluster 'a' of stream 's'"),
    ({"s": {"a": {"topics": "t", "properties": PASSWORD}}}, MetadataServiceError, "invalid 'topics' for cluster 'a'"),
    ({"s": {"a": {"topics": ["t"], "properties": {"a": 1}}}}, MetadataServiceError, "invalid 'properties' for cluster"),
    ({"s": {"a": {"topics": ["t"], "properties": {}}}}, MetadataServiceError, "returned no 'bootstrap.servers'"),
    (
        {"s": {"a": {"topics": ["t"], "properties": {**PASSWORD, "no.such": "secret-word"}}}},
        UnknownOptionError,
        "returned invalid 'properties' for cluster 'a': .*no.such",
    ),
    (
        {"s": cluster("a"), "r": cluster("a", ssl_key_password="secret-word")},
        MetadataServiceError,
        "returned different 'properties' for cluster 'a'",
    ),
]


@pytest.mark.parametrize(("result", "error", "message"), INVALID, ids=[message for *_, message in INVALID])
def test_invalid_results_name_what_is_wrong_and_show_no_value(
    fakes: dict[str, FakeCluster], result: Any, error: type[KafkaSqlError], message: str
) -> None:
    STREAMS["result"] = result
    with pytest.raises(error, match=message) as raised:
        plan_batch(define_dynamic(stream__ids="s;r" if isinstance(result, dict) and "r" in result else "s"))
    assert "Table 'db.orders': metadata service 'tests.unit.source.dynamic.test_clusters:service'" in str(raised.value)
    assert "secret-word" not in str(raised.value)


def test_the_cluster_of_a_split_does_not_show_its_properties() -> None:
    assert repr(module.SourceCluster("a", {"k": "secret-word"})) == "SourceCluster(id='a')"
    split = Split("t", 0, 1, 2, cluster=module.SourceCluster("a", {"k": "v"}))
    assert hash(split) == hash(Split("t", 0, 1, 2, cluster=module.SourceCluster("a", {"k": "w"})))
