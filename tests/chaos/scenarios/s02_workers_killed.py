"""Kill Spark's workers, executors and drivers during batches of a copy, an aggregation and a windowed query."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path
from typing import Final

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.options.connector import DIRECT, LIBRDKAFKA
from tests.chaos.batch_codecs import topic_codecs
from tests.chaos.expected_rows import WINDOW_CLOSING_NUMBER, evaluate
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.kills import spark
from tests.topics import Topics
from tests.waiting import wait_until

_TIMEOUT: Final = 400.0  # seconds
# Number of portions per call of ``_Load.send``; one for the other queries. A portion has 100 s of event time, so two of
# them exceed the watermark delay of two minutes and close windows. The delay exceeds the skew between partitions.
_PORTIONS: Final = {"window": 2}
_MIN_SENDS: Final = 5  # minimum calls of ``_Load.send`` for a query, over all its drivers
# After this many polls without progress, more rows are sent: windows are only written when later rows arrive.
_POLLS_PER_SEND: Final = 10


def scenario(config: ScenarioConfig) -> Outcome:
    """Run each query in local mode and with executors in separate processes."""
    outcome, rng = Outcome(), config.rng()
    masters = ("local[2,8]", "local-cluster[2,1,1024]") if config.long else ("local[2,8]",)
    queries = spark.QUERIES if config.long else ("window",)
    cases = len(masters) * len(queries)
    count, rows = max(2, config.repeat // (2 * cases)), config.rows // cases
    for master in masters:
        for query in queries:
            folder = config.folder / f"{query}-{master.partition('[')[0]}"
            result = run_drivers(folder, master, count, rows, query, rng, config.client, config.codec)
            config.log(f"{query} on {master}: {result}")
            outcome += result
    return outcome


class _Load:
    """Sends rows to a query, waits for their results, and observes which client its workers use."""

    def __init__(self, bootstrap: str, rows: int, query: str, codec: str) -> None:
        """Create the topics. ``rows`` are sent in at least ``_MIN_SENDS`` calls of ``send``."""
        topics = Topics(bootstrap)
        self.source, self.target = topics.create(spark.KEYS), topics.create(spark.KEYS)
        self.sent, self.uses_librdkafka = 0, set[bool]()
        self._bootstrap, self._codec, self._portions = bootstrap, codec, _PORTIONS.get(query, 1)
        self._portion_size = -(-rows // (_MIN_SENDS * self._portions))

    def committed_count(self) -> int:
        return len(spark.committed_rows(self._bootstrap, self.target))

    def send(self) -> None:
        for _ in range(self._portions):
            self.sent = spark.send(self._bootstrap, self.source, self.sent, self._portion_size, self._codec)

    def close_windows(self) -> None:
        first = self.sent + WINDOW_CLOSING_NUMBER
        spark.send(self._bootstrap, self.source, first, self._portion_size, self._codec)

    def wait_for_progress(self, count_before: int, python: int, java: int, folder: Path) -> None:
        """Wait until the query has committed more rows than before; send more if it takes long."""
        polls = 0

        def poll() -> bool:
            nonlocal polls
            polls += 1
            spark.assert_running(python, folder)
            workers = [worker for process in (java, *spark.executors(java)) for worker in spark.workers(process)]
            self.uses_librdkafka.update(map(spark.has_librdkafka, workers))
            if polls % _POLLS_PER_SEND == 0:
                self.send()
            return self.committed_count() > count_before

        wait_until(poll, "progress", _TIMEOUT)


def run_drivers(
    folder: Path,
    master: str,
    count: int,
    rows: int,
    query: str,
    rng: random.Random,
    client: str = DIRECT,
    codec: str = "none",
) -> Outcome:
    """Start and kill drivers. For every second driver, also kill its workers or executors while they run tasks.

    Args:
        master: Spark's master URL; ``local[...]`` has workers, ``local-cluster[...]`` has executors.
        count: number of drivers.
        rows: minimum number of rows.
        query: one of ``spark.QUERIES``.
        client: 'scan.client' and 'sink.client'.
        codec: 'compression.type' of the producers of both topics.
    """
    folder.mkdir(parents=True, exist_ok=True)
    processes = spark.workers if master.startswith("local[") else spark.executors
    with EmbeddedKafka() as kafka:
        bootstrap, killed = kafka.bootstrap_servers, 0
        load = _Load(bootstrap, rows, query, codec)
        driver = partial(spark.running_query, bootstrap, load.source, load.target, folder, master, query, client, codec)
        for driver_index in range(count):
            with driver() as (python, java):
                count_before = load.committed_count()
                load.send()
                load.wait_for_progress(count_before, python, java, folder)
                for _ in range(3 if driver_index % 2 else 0):
                    count_before = load.committed_count()
                    load.send()
                    time.sleep(rng.uniform(0, 0.5))  # at a random point of a batch
                    killed += spark.kill(processes(java))
                    load.wait_for_progress(count_before, python, java, folder)
                send_until = time.monotonic() + rng.uniform(0, 3)
                while time.monotonic() < send_until:
                    load.send()
                killed += spark.kill([java, python]) // 2  # the two processes of one driver
        with driver():
            if query == "window":
                load.close_windows()
            wait_until(
                lambda: evaluate(query, spark.committed_rows(bootstrap, load.target), load.sent).lost <= 0,
                "all rows",
                _TIMEOUT,
            )
            time.sleep(2)  # rows that arrive now would be duplicates
            outcome = evaluate(query, spark.committed_rows(bootstrap, load.target), load.sent)
        # the batches of the other queries' results have a row each and are too small to compress
        assert query != "copy" or codec in {name or "none" for name in topic_codecs(bootstrap, load.target)}
    assert load.uses_librdkafka == {client == LIBRDKAFKA}, f"the workers did not use '{client}'"
    outcome.repetitions = killed
    return outcome
