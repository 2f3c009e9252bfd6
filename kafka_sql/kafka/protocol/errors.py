"""Error codes in responses: those that pass by themselves, and those that do not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from kafka_sql.errors import AuthorizationError, TransactionError
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.protocol.codec import BrokenAnswer
from kafka_sql.kafka.protocol.connection import Connection

# A coordinator that loads, is not there, has moved, or still writes the markers of the end before; a leader that moved.
PASSING: Final = frozenset({3, 5, 6, 7, 14, 15, 16, 51})
OLDEST: Final = "exactly-once needs brokers of Apache Kafka 3.0 or later"
_FORBIDDEN: Final = frozenset({29, 31, 53})


class Passing(Exception):
    """An error that may pass by itself."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def fine(what: str, code: int, found: Any) -> Any:
    """What was found.

    Args:
        what: was asked for, for errors.

    Raises:
        AuthorizationError: the user may not ask.
        TransactionError: another error code.
    """
    if code in _FORBIDDEN:
        raise AuthorizationError(
            f"{what}: {bindings.reason(code)}. Exactly-once needs WRITE and DESCRIBE on the transactional ids that "
            "begin with 'sink.transactional-id-prefix', and READ and DESCRIBE on the topic."
        )
    if code:
        raise TransactionError(f"{what}: {bindings.reason(code)} ({code}).")
    return found


def require(connection: Connection, key: int) -> None:
    """Check that the broker knows a request.

    Raises:
        TransactionError: it is too old.
    """
    if key not in connection.versions:
        raise TransactionError(f"The brokers cannot list or describe transactions: {OLDEST}.")


def complete(answers: Collection[object], asked: Collection[object]) -> None:
    """Check that nothing is left out, which could pass for done.

    Raises:
        BrokenAnswer: something is.
    """
    missing = [one for one in asked if one not in answers]
    if missing:
        raise BrokenAnswer(f"the response says nothing of {missing[0]!r}")
