"""Turn failures of reading into errors that say what to do."""

from __future__ import annotations

from kafka_sql.errors import AuthorizationError, BrokerError, DataLossError, FetchError, OffsetError, TopicNotFoundError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.split import Split


def fetch_error(code: int, split: Split, offset: int, reason: str) -> BrokerError:
    """Return the error for an error code of the protocol."""
    where = split.describe_offset(offset)
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return AuthorizationError(f"{where}: {reason}. Grant the user READ on the topic.", **split.at(offset))
    return FetchError(f"{where}: {reason}.", **split.at(offset))


def out_of_range_error(split: Split, offset: int, reason: str) -> OffsetError:
    """Return the error for an offset that the partition does not have, and never had."""
    return OffsetError(
        f"{split.describe_offset(offset)}: the offset is out of range ({reason}). The topic was recreated, or its "
        "leader has lost records. Restart with 'scan.startup.mode' = 'earliest-offset'.",
        **split.at(offset),
    )


def deleted_topic_error(split: Split, offset: int) -> TopicNotFoundError:
    """Return the error for a topic that was deleted before the read reached its end."""
    return TopicNotFoundError(
        f"{split.describe_offset(offset)}: the topic no longer exists. It was deleted during the read. Run the query "
        "again, without the topic or after creating it.",
        **split.at(offset),
    )


def stalled_error(split: Split, offset: int, seconds: float, causes: str) -> FetchError:
    """Return the error for records that did not arrive.

    Args:
        offset: the first offset that did not arrive.
    """
    return FetchError(
        f"{split.describe_offset(offset)}: no records arrived for {seconds:g} s, and the read ends at offset "
        f"{split.stop}. Check that the topic was not deleted or recreated and that its brokers are up. Client: "
        f"{causes}.",
        **split.at(offset),
    )


def raise_data_loss(split: Split, offset: int, first: int) -> None:
    """Raise the error for deleted records, if the caller does not handle data loss.

    Args:
        offset: the first deleted offset.
        first: the first available offset.

    Raises:
        DataLossError: always.
    """
    raise DataLossError(
        f"{split.describe_offset(offset)}: the record was deleted before it was read. The first available offset is "
        f"{first}.",
        **split.at(offset),
    )
