"""Define the options that only the connector ``dynamic-kafka`` has, and check them.

Keys, types, defaults and messages: DynamicKafkaConnectorOptions, DynamicKafkaSourceOptions and DynamicKafkaTableFactory
of Flink's connector.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.options.option import Option, Options, enum, integer, string
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.options.string_lists import split_list
from kafka_sql.suggestions import did_you_mean

SINGLE_CLUSTER: Final = "single-cluster"
_SINGLE_CLUSTER_CLASS: Final = "org.apache.flink.connector.kafka.dynamic.metadata.SingleClusterTopicMetadataService"


STREAM_IDS: Final = Option(
    "stream-ids",
    lambda text: tuple(id for id in map(str.strip, split_list(text)) if id),
    "List<String>",
    "Ids of the streams to read, separated by ';'. The metadata service knows the clusters and topics of each. Either "
    "'stream-ids' or 'stream-pattern' must be set.",
    is_destination=True,
)
STREAM_PATTERN: Final = string(
    "stream-pattern",
    "Regular expression, in Java's syntax. The table reads all streams in whose id it finds a match. Cannot be "
    "combined with 'stream-ids'.",
    is_destination=True,
)
METADATA_SERVICE: Final = Option(
    "metadata-service",
    lambda text: SINGLE_CLUSTER if text == _SINGLE_CLUSTER_CLASS else text,
    "String",
    "Where the clusters and topics of streams are looked up: 'single-cluster', where the streams are the topics of one "
    "cluster, or 'module:callable' of a Python function (see dynamic-kafka.md).",
    required=True,
    is_destination=True,
)
METADATA_CLUSTER_ID: Final = string(
    "metadata-service.cluster-id",
    "Id of the cluster of the metadata service 'single-cluster'.",
    is_destination=True,
)
METADATA_INTERVAL: Final = integer(
    "stream-metadata-discovery-interval-ms",
    "Interval, in milliseconds, at which a stream calls the metadata service again, to read new clusters and topics "
    "and to stop reading those that are no longer returned. A number that is not positive disables this. Bounded "
    "streams do not discover changes.",
    minimum=-(1 << 63),
    bits=64,
    default="-1",
)
METADATA_FAILURES: Final = integer(
    "stream-metadata-discovery-failure-threshold",
    "Number of consecutive failures of the metadata service that a stream ignores. It continues to read the clusters "
    "and topics that it knows. The first call of a query may not fail.",
    minimum=0,
    default="1",
)
ENUMERATOR_MODE: Final = enum(
    "stream-enumerator-mode",
    "How partitions are assigned to readers. Has no effect: Spark assigns the partitions of all clusters to its tasks.",
    allowed=("per_cluster", "global"),
    default="per_cluster",
)
OPTIONS: Final = (
    STREAM_IDS,
    STREAM_PATTERN,
    METADATA_SERVICE,
    METADATA_CLUSTER_ID,
    METADATA_INTERVAL,
    METADATA_FAILURES,
    ENUMERATOR_MODE,
)


def check_streams(options: Options) -> None:
    """Check which streams a table reads; raise an OptionError for the first violation."""
    pattern, ids = options.get(STREAM_PATTERN), options.get(STREAM_IDS)
    if ids is not None and pattern is not None:
        raise ConflictingOptionsError(
            "Option 'stream-ids' and 'stream-pattern' shouldn't be set together.", option=STREAM_PATTERN.key
        )
    if ids is None and pattern is None:
        raise MissingOptionError("Either 'stream-ids' or 'stream-pattern' must be set.", option=STREAM_IDS.key)
    if ids is not None and not ids:
        raise InvalidOptionError("Option 'stream-ids' cannot be empty.", option=STREAM_IDS.key)
    if pattern is not None:
        try:
            compile_java_pattern(pattern)
        except ValueError as e:
            raise InvalidOptionError(
                f"Option 'stream-pattern' contains an invalid regular expression: '{mask_user_info(pattern)}': {e}.",
                option=STREAM_PATTERN.key,
            ) from e


def check_metadata_service(options: Options, has_servers: bool) -> None:
    """Check the form of 'metadata-service', and what 'single-cluster' requires, in the same way.

    Raises:
        OptionError: the first violation.
    """
    service = options[METADATA_SERVICE]
    if service == SINGLE_CLUSTER:
        for key, is_set in (
            (METADATA_CLUSTER_ID.key, options.is_set(METADATA_CLUSTER_ID)),
            ("properties.bootstrap.servers", has_servers),
        ):
            if not is_set:
                raise MissingOptionError(
                    f"Option '{key}' is required for '{SINGLE_CLUSTER}' metadata service.", option=key
                )
        return
    module, colon, name = service.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise InvalidOptionError(
            f"Could not find and instantiate metadata service class '{mask_user_info(service)}' (option "
            f"'{METADATA_SERVICE.key}'). Expected '{SINGLE_CLUSTER}', or a Python function as 'module:callable' (Java "
            f"classes are not supported).{did_you_mean(service, (SINGLE_CLUSTER,))}",
            option=METADATA_SERVICE.key,
        )
