"""List, commit and abort transactions that a crashed exactly-once writer left open; no Spark session needed."""

from kafka_sql.sink.exactly_once.admin import (
    OpenTransaction,
    abort_transactions,
    commit_transactions,
    list_transactions,
)

__all__ = ["OpenTransaction", "abort_transactions", "commit_transactions", "list_transactions"]
