"""Measure changelogs of many keys: their content in a batch, their normalization in a stream, and what a key costs.

Each result is compared with the expected content, and a difference fails the run.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.cluster import Cluster
from benchmarks.comparison import DisagreementError, Result, count_noun
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS

_GROUP: Final = "changelog-keys"
_PARTITIONS: Final = 4
_CHANGES_PER_KEY: Final = 10
_BATCHES: Final = 20  # micro-batches of each measurement of the cost per change
_ROW: Final = "id BIGINT, g INT, amount INT, note STRING"
_KEY: Final = "PRIMARY KEY (id) NOT ENFORCED"
# of columns ``id`` and ``version``
_VALUES: Final = {
    "id": "id",
    "g": "CAST((id + {version}) % 1000 AS INT)",
    "amount": "CAST((id * 31 + {version} * 17) % 10007 AS INT)",
    "note": "concat('note ', id % 1000, ' ', {version})",
}
_CHECKSUM: Final = "SELECT count(*), sum(id), sum(amount), sum(crc32(CAST(note AS BINARY)))"


def measure_content(keys: int, process: PeerProcess, cluster: Cluster, runs: int) -> Iterator[Result]:
    """Read the content of a Debezium topic with ten changes per key, with and without a primary key.

    Args:
        keys: number of keys. The last change of each third key deletes its row.
    """
    topic, changes, last = f"keys_{keys}", keys * _CHANGES_PER_KEY, _CHANGES_PER_KEY - 1
    cluster.create(topic, _PARTITIONS)
    options = f"'topic' = '{topic}', {_servers(cluster)}, 'scan.startup.mode' = 'earliest-offset'"
    row = f"ROW<{_ROW}>"
    _sql(
        process,
        f"CREATE TABLE {topic}_events (id BIGINT, `before` {row}, `after` {row}, op STRING) "
        f"WITH ('connector' = 'kafka', {options}, 'key.format' = 'json', 'key.fields' = 'id', 'value.format' = 'json', "
        "'value.fields-include' = 'EXCEPT_KEY')",
    )
    is_deleted = f"version = {last} AND id % 3 = 0"
    _sql(  # one task writes the changes of each key in their order
        process,
        f"""INSERT INTO {topic}_events
        SELECT id, CASE WHEN version > 0 THEN {_struct("(version - 1)")} END,
          CASE WHEN NOT ({is_deleted}) THEN {_struct("version")} END,
          CASE WHEN version = 0 THEN 'c' WHEN {is_deleted} THEN 'd' ELSE 'u' END
        FROM (SELECT id % {keys} AS id, id div {keys} AS version FROM range(0, {changes}, 1, 1))""",
    )
    expected = _sql(
        process, f"{_CHECKSUM} FROM (SELECT {_columns(last)} FROM range(0, {keys}, 1, 2) WHERE id % 3 <> 0)"
    )["rows"]
    for name, key in (("with a primary key", f", {_KEY}"), ("without a primary key", "")):
        table = f"{topic}_{name.split()[0]}"
        _sql(
            process,
            f"CREATE TABLE {table} ({_ROW}{key}) WITH ('connector' = 'kafka', {options}, 'format' = 'debezium-json')",
        )
        process.memory.reset()
        seconds = []
        for _ in range(runs):
            response = _sql(process, f"{_CHECKSUM} FROM {table}")
            _check(f"content {name}", expected, response["rows"])
            seconds.append(response["seconds"])
        comparison = f"content of {count_noun(keys, 'key')}, {name}"
        yield Result(_GROUP, comparison, OURS, seconds, changes, memory=process.memory.peaks)
    cluster.delete(topic)


def measure_normalization(
    key_counts: tuple[int, ...], changes: int, process: PeerProcess, cluster: Cluster, folder: Path, runs: int
) -> Iterator[Result]:
    """Normalize upserts: first one of each key, then the same number of changes per micro-batch for any number of keys.

    Args:
        key_counts: numbers of keys, of which ``changes`` is a divisor.
        changes: number of changed keys per micro-batch.
        folder: for checkpoints.
    """
    for keys in key_counts:
        _create_upserts(keys, process, cluster)
        process.memory.reset()
        _write_upserts(keys, keys, 0, process)
        seconds = _normalize(keys, process, folder, "")["seconds"]
        _check_normalized(keys, process)
        comparison = f"normalization of {count_noun(keys, 'new key')}"
        yield Result(_GROUP, comparison, OURS, [seconds], keys, memory=process.memory.peaks)
    times: dict[int, list[float]] = {keys: [] for keys in key_counts}
    for round_ in range(max(runs, 3) + 1):  # the first one is a warm-up
        for keys in key_counts:
            for batch in range(_BATCHES):
                _write_upserts(keys, changes, 1 + round_ * _BATCHES + batch, process)
            hint = f"/*+ OPTIONS('scan.max-offsets-per-trigger' = '{changes}') */"
            batches = _normalize(keys, process, folder, hint)["batches"]
            if round_ > 0:
                times[keys].append(statistics.median(batches))
    for keys in key_counts:
        _check_normalized(keys, process)
        comparison = f"micro-batch of {count_noun(changes, 'change')}, {count_noun(keys, 'key')}"
        yield Result(_GROUP, comparison, OURS, times[keys], unit="ms")


def _create_upserts(keys: int, process: PeerProcess, cluster: Cluster) -> None:
    for name in (f"upserts_{keys}_keys", f"normalized_{keys}_keys"):
        cluster.create(name, _PARTITIONS)
    bounded = f"{_servers(cluster)}, 'scan.bounded.mode' = 'latest-offset'"
    _sql(
        process,
        f"CREATE TABLE upserts_{keys} ({_ROW}, {_KEY}) WITH ('connector' = 'upsert-kafka', 'topic' = "
        f"'upserts_{keys}_keys', {bounded}, 'key.format' = 'json', 'value.format' = 'json')",
    )
    _sql(
        process,
        f"CREATE TABLE normalized_{keys} ({_ROW}, {_KEY}) WITH ('connector' = 'kafka', 'topic' = "
        f"'normalized_{keys}_keys', {bounded}, 'scan.startup.mode' = 'earliest-offset', 'key.format' = 'json', "
        "'key.fields' = 'id', 'value.format' = 'debezium-json')",
    )


def _write_upserts(keys: int, changes: int, version: int, process: PeerProcess) -> None:
    """Write a new row of every n-th key."""
    step = keys // changes
    ids = f"(SELECT id * {step} + {version % step} AS id FROM range(0, {changes}, 1, 2))"
    _sql(process, f"INSERT INTO upserts_{keys} SELECT {_columns(version)} FROM {ids}")


def _normalize(keys: int, process: PeerProcess, folder: Path, hint: str) -> Any:
    """Read the new changes of a topic; the change data capture format needs the old rows, so they are in the state."""
    insert = f"INSERT INTO normalized_{keys} SELECT * FROM upserts_{keys} {hint}"
    return process.request("insert_stream", text=insert, checkpoints=str(folder / "changelog-keys"))


def _check_normalized(keys: int, process: PeerProcess) -> None:
    expected, actual = (_sql(process, f"{_CHECKSUM} FROM {table}_{keys}") for table in ("upserts", "normalized"))
    _check(f"normalization of {keys} keys", expected["rows"], actual["rows"])


def _check(what: str, expected: Any, actual: Any) -> None:
    if expected != actual:
        raise DisagreementError(f"{_GROUP}, {what}: {actual} instead of {expected}")


def _columns(version: int) -> str:
    return ", ".join(f"{value.format(version=version)} AS {name}" for name, value in _VALUES.items())


def _struct(version: str) -> str:
    fields = ", ".join(f"'{name}', {value.format(version=version)}" for name, value in _VALUES.items())
    return f"named_struct({fields})"


def _servers(cluster: Cluster) -> str:
    return f"'properties.bootstrap.servers' = '{cluster.bootstrap}'"


def _sql(process: PeerProcess, text: str) -> Any:
    return process.request("sql", text=text)
