"""Look up the clusters and topics of a 'dynamic-kafka' table: call its metadata service, and check the result.

A service is a Python function ``service(stream_ids, properties)``. It returns the streams with their clusters:

    {"orders": {"cluster-a": {"topics": ["orders-v1"], "properties": {"bootstrap.servers": "broker-a:9092"}}}}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_sql.definition import Definition, client_properties
from kafka_sql.errors import KafkaSqlError, MetadataServiceError, OptionError
from kafka_sql.kafka.client_choice import choose_reader
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.topic_partition import INTERNAL_TOPICS
from kafka_sql.options import connector as opt
from kafka_sql.options import dynamic
from kafka_sql.options.allow_lists import import_callable
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.options.secret_references import mask_secrets

_ENTRIES = ("topics", "properties")  # of a cluster
ListTopics = Callable[[Mapping[str, str]], Collection[str]]


@dataclass(frozen=True)
class ClusterMetadata:
    """A cluster of a table, as its metadata service describes it."""

    topics: frozenset[str]
    # librdkafka's configuration of its clients. May contain secrets, or references to them.
    config: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class StreamMetadata:
    """The result of a metadata service."""

    clusters: Mapping[str, ClusterMetadata]
    missing: tuple[str, ...] = ()  # streams of 'stream-ids' that the service does not know


def look_up_streams(definition: Definition, list_topics: ListTopics) -> StreamMetadata:
    """Return the clusters and topics of a table's streams.

    Args:
        list_topics: returns the topics of the cluster with a client configuration.

    Raises:
        MetadataServiceError: the service raised an exception, or its result is invalid.
        OptionError: the service cannot be imported, or the properties of a cluster are invalid.
        BrokerError: the topics of 'single-cluster' cannot be listed.
    """
    if definition.options[dynamic.METADATA_SERVICE] == dynamic.SINGLE_CLUSTER:
        topics = _single_cluster_topics(definition, list_topics)
        cluster_id = str(definition.options.get(dynamic.METADATA_CLUSTER_ID))
        return StreamMetadata({cluster_id: ClusterMetadata(frozenset(topics), definition.client_config)})
    ids = definition.options.get(dynamic.STREAM_IDS)
    streams = _call(definition, None if ids is None else list(ids))
    if ids is not None:
        subscribed = {stream: streams[stream] for stream in ids if stream in streams}
    else:
        pattern = compile_java_pattern(definition.options.get(dynamic.STREAM_PATTERN) or "")
        subscribed = {stream: clusters for stream, clusters in streams.items() if pattern.search(stream)}
    missing = tuple(stream for stream in ids or () if stream not in streams)
    return StreamMetadata(_merge(definition, subscribed.values()), missing)


def _single_cluster_topics(definition: Definition, list_topics: ListTopics) -> Iterable[str]:
    ids = definition.options.get(dynamic.STREAM_IDS)
    if ids is not None:
        return ids
    pattern = compile_java_pattern(definition.options.get(dynamic.STREAM_PATTERN) or "")
    listed = list_topics(definition.client_config)
    return (topic for topic in listed if pattern.search(topic) and topic not in INTERNAL_TOPICS)


def _call(definition: Definition, stream_ids: list[str] | None) -> Mapping[str, Mapping[str, Any]]:
    """Return what the service returns, after checking its form."""
    name = definition.options[dynamic.METADATA_SERVICE]
    service = import_callable(dynamic.METADATA_SERVICE.key, name, "on the driver")
    properties = client_properties(definition.table.options)
    try:
        streams = service(stream_ids, dict(properties))
    except KafkaSqlError:
        raise
    except Exception as e:  # noqa: BLE001  # any error of the user's function
        reason = mask_secrets(f"{type(e).__name__}: {e}", {}, properties)
        raise _error(definition, f"raised {reason}") from None  # the cause may show secrets
    _check_mapping(definition, streams, "the streams", "stream")
    for stream, clusters in streams.items():
        _check_mapping(definition, clusters, f"stream '{stream}'", "cluster")
        for cluster_id, cluster in clusters.items():
            _check_cluster(definition, f"cluster '{cluster_id}' of stream '{stream}'", cluster)
    return streams  # type: ignore[no-any-return]


def _check_mapping(definition: Definition, value: object, what: str, entry: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
        raise _error(
            definition, f"returned {type(value).__name__} for {what}. Expected a mapping from the id of each {entry}"
        )


def _check_cluster(definition: Definition, where: str, cluster: object) -> None:
    """Check the topics and properties of a cluster. Errors do not show values, which may be secrets."""
    if not isinstance(cluster, Mapping) or set(cluster) != set(_ENTRIES):
        found = ", ".join(f"'{key}'" for key in cluster) if isinstance(cluster, Mapping) else type(cluster).__name__
        raise _error(definition, f"returned {found} for {where}. Expected a mapping with 'topics' and 'properties'")
    topics, properties = cluster["topics"], cluster["properties"]
    is_list = isinstance(topics, Collection) and not isinstance(topics, str | bytes | Mapping)
    if not is_list or not all(isinstance(topic, str) and topic for topic in topics):
        raise _error(definition, f"returned invalid 'topics' for {where}. Expected a list of names")
    if not isinstance(properties, Mapping) or not all(
        isinstance(text, str) for entry in properties.items() for text in entry
    ):
        raise _error(definition, f"returned invalid 'properties' for {where}. Expected a mapping from str to str")


def _merge(definition: Definition, streams: Iterable[Mapping[str, Any]]) -> dict[str, ClusterMetadata]:
    """Return the clusters of all streams, each with the topics of all streams."""
    topics: dict[str, set[str]] = {}
    properties: dict[str, Mapping[str, str]] = {}
    for clusters in streams:
        for cluster_id, cluster in clusters.items():
            if properties.setdefault(cluster_id, cluster["properties"]) != cluster["properties"]:
                raise _error(
                    definition, f"returned different 'properties' for cluster '{cluster_id}' of several streams"
                )
            topics.setdefault(cluster_id, set()).update(cluster["topics"])
    return {c: ClusterMetadata(frozenset(topics[c]), _client_config(definition, c, properties[c])) for c in topics}


def _client_config(definition: Definition, cluster_id: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of a cluster's clients. Its properties override those of the table."""
    merged = {**client_properties(definition.table.options), **properties}
    if not merged.get("bootstrap.servers"):
        raise _error(definition, f"returned no 'bootstrap.servers' among the 'properties' of cluster '{cluster_id}'")
    try:
        config = to_librdkafka(merged)
        choose_reader(definition.options[opt.SCAN_CLIENT], config)
    except OptionError as e:
        raise e.with_prefix(f"{_prefix(definition)} returned invalid 'properties' for cluster '{cluster_id}': ") from e
    return config


def _error(definition: Definition, problem: str) -> MetadataServiceError:
    return MetadataServiceError(f"{_prefix(definition)} {problem}.", table=definition.name)


def _prefix(definition: Definition) -> str:
    name = definition.options[dynamic.METADATA_SERVICE]
    return f"Table '{definition.name}': metadata service '{name}' (option '{dynamic.METADATA_SERVICE.key}')"
