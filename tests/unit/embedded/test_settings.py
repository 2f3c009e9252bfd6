"""Test the properties and the storage files of a node."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.embedded.settings import (
    cluster_id,
    format_storage,
    properties_text,
    random_uuid,
    server_properties,
)
from kafka_sql.errors import EmbeddedKafkaError


def test_single_node() -> None:
    settings = server_properties(1, [9092], [9093], {})
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9093"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert settings["auto.create.topics.enable"] == "false"
    for key in ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert settings[f"{key}.replication.factor"] == "1"
    assert settings["min.insync.replicas"] == settings["transaction.state.log.min.isr"] == "1"


def test_second_of_three_nodes() -> None:
    settings = server_properties(2, [1, 2, 3], [4, 5, 6], {})
    assert settings["node.id"] == "2"
    assert settings["broker.rack"] == "b"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:4,2@127.0.0.1:5,3@127.0.0.1:6"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:5"
    assert settings["replica.selector.class"] == "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    for key in ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert settings[f"{key}.replication.factor"] == "3"
    assert settings["min.insync.replicas"] == settings["transaction.state.log.min.isr"] == "2"


def test_user_settings_take_precedence() -> None:
    overrides = {"auto.create.topics.enable": True, "num.partitions": 7, "compression.type": "zstd"}
    settings = server_properties(1, [1], [2], overrides)
    assert {key: settings[key] for key in overrides} == {
        "auto.create.topics.enable": "true",
        "num.partitions": "7",
        "compression.type": "zstd",
    }


def test_user_listeners_are_appended() -> None:
    overrides = {"listeners": "SAFE://127.0.0.1:3", "listener.security.protocol.map": "SAFE:SSL"}
    settings = server_properties(1, [1], [2], overrides)
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,SAFE://127.0.0.1:3"
    assert settings["listener.security.protocol.map"] == "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SAFE:SSL"


@pytest.mark.parametrize("key", ["node.id", "process.roles", "controller.quorum.voters", "log.dirs"])
def test_reserved_settings_are_rejected(key: str) -> None:
    with pytest.raises(EmbeddedKafkaError, match=f"'{key}' is managed by the embedded broker"):
        server_properties(1, [1], [2], {key: "x"})


@pytest.mark.parametrize("key", ["", "a b", "a=b", "a\nb", "ä"])
def test_invalid_names_are_rejected(key: str) -> None:
    with pytest.raises(EmbeddedKafkaError, match="is not a valid name"):
        server_properties(1, [1], [2], {key: "x"})


def load(text: str) -> dict[str, str]:
    """Parse lines with '=' as java.util.Properties.load does, according to its documentation."""
    properties = {}
    for line in text.split("\n"):
        if line:
            key, _, value = line.partition("=")
            units = re.findall(r"\\u([0-9a-f]{4})|\\(.)|(.)", value.lstrip(" \t\f"), re.DOTALL)
            codes = [int(code, 16) if code else ord(escaped or literal) for code, escaped, literal in units]
            data = b"".join(code.to_bytes(2, "big") for code in codes)
            properties[key] = data.decode("utf-16-be", "surrogatepass")
    return properties


values = st.text(st.characters(exclude_categories=())) | st.sampled_from([" a", "\\", "a\\n", "\t", "😀", "#", "a=b"])


@given(st.dictionaries(st.from_regex(r"[a-z][a-z.]*", fullmatch=True), values))
def test_java_can_read_the_properties(settings: dict[str, str]) -> None:
    text = properties_text(settings)
    assert text.isascii()
    assert load(text) == settings


def test_ascii_values_are_not_escaped() -> None:
    assert properties_text({"a.b": "X://127.0.0.1:1,Y"}) == "a.b=X://127.0.0.1:1,Y\n"


def test_format_storage(tmp_path: Path) -> None:
    assert cluster_id(tmp_path) is None
    format_storage(tmp_path, 3, "cluster")
    assert cluster_id(tmp_path) == "cluster"
    lines = (tmp_path / "data/meta.properties").read_text().splitlines()
    assert lines[:3] == ["version=1", "cluster.id=cluster", "node.id=3"]
    assert re.fullmatch(r"directory\.id=[\w-]{22}", lines[3])


def test_damaged_storage(tmp_path: Path) -> None:
    format_storage(tmp_path, 1, "cluster")
    (tmp_path / "data/meta.properties").write_text("")
    with pytest.raises(EmbeddedKafkaError, match=r"meta\.properties has no cluster\.id"):
        cluster_id(tmp_path)


def test_random_uuid_never_starts_with_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        def __init__(self, first: int) -> None:
            self.bytes = bytes([first]) + b"\0" * 15

    uuids = iter([Fixed(0xF8), Fixed(0x00)])  # 0b111110.. is '-'
    monkeypatch.setattr("uuid.uuid4", lambda: next(uuids))
    assert random_uuid() == "A" * 22
