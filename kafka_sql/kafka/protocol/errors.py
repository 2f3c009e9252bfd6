"""Turn the error codes of responses into exceptions."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from kafka_sql.errors import AuthorizationError, TransactionError
from kafka_sql.kafka.error_codes import AUTHORIZATION_FAILED, ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse

T = TypeVar("T")


class RetriableError(Exception):
    """An error code after which the request may be sent again (see ``error_codes.RETRIABLE``)."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        return error_text(self.code)


class UnknownTopicError(RetriableError):
    """A broker's metadata does not have a topic: the topic does not exist, or the broker has not learned of it yet."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def raise_if_retriable(code: int, api: ApiKey) -> None:
    """Raise a RetriableError for an error code that is retriable for an API."""
    if is_retriable(code, api):
        raise RetriableError(code)


def raise_for_code(subject: str, code: int, result: T, topic: str | None = None) -> T:
    """Return the result if the error code is NONE.

    Args:
        subject: what was requested, for the error message.
        topic: the topic, if it is of one.

    Raises:
        AuthorizationError: the user lacks an ACL.
        TransactionError: any other error code.
    """
    if code in AUTHORIZATION_FAILED:
        raise AuthorizationError(
            f"{subject}: {error_text(code)}. Exactly-once needs WRITE and DESCRIBE on the transactional ids that "
            "begin with 'sink.transactional-id-prefix', and READ and DESCRIBE on the topic.",
            topic=topic,
        )
    if code != ErrorCode.NONE:
        raise TransactionError(f"{subject}: {error_text(code)}.", topic=topic)
    return result


def check_complete(response: Collection[object], requested: Collection[object]) -> None:
    """Raise a MalformedResponse if an item is missing: it has no error code and would count as successful."""
    missing = [item for item in requested if item not in response]
    if missing:
        raise MalformedResponse(f"the response lacks {missing[0]!r}")
