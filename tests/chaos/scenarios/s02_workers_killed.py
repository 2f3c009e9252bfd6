"""Kill Spark's workers, executors and drivers during batches of a copy, an aggregation and a windowed query."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Final

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import wait_until
from tests.chaos.expected_rows import WINDOW_CLOSING_NUMBER, evaluate
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.kills import spark
from tests.topics import Topics

_TIMEOUT: Final = 400.0  # seconds
# Portions of rows that are sent at a time, if not one. Each has 100 s of event time. Two of them exceed the watermark
# delay of two minutes, so they close windows. The delay exceeds the skew between partitions.
_PORTIONS: Final = {"window": 2}
_MIN_SENDS: Final = 5  # how often rows are sent to a query, over all its drivers
# After so many polls without progress, more rows are sent: windows are only written when later rows arrive.
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
            result = run_drivers(config.folder / f"{query}-{len(master)}", master, count, rows, query, rng)
            config.log(f"{query} on {master}: {result}")
            outcome += result
    return outcome


def run_drivers(folder: Path, master: str, count: int, rows: int, query: str, rng: random.Random) -> Outcome:
    """Start and kill drivers. For every second driver, also kill its workers or executors while they run tasks.

    Args:
        master: Spark's master URL; ``local[...]`` has workers, ``local-cluster[...]`` has executors.
        count: number of drivers.
        rows: minimum number of rows.
        query: one of ``spark.QUERIES``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    portions = _PORTIONS.get(query, 1)
    portion_size = -(-rows // (_MIN_SENDS * portions))
    processes = spark.workers if master.startswith("local[") else spark.executors
    with EmbeddedKafka() as kafka:
        bootstrap, topics = kafka.bootstrap_servers, Topics(kafka.bootstrap_servers)
        source, target = topics.create(spark.KEYS), topics.create(spark.KEYS)
        sent = killed = 0

        def committed_count() -> int:
            return len(spark.committed_rows(bootstrap, target))

        def send_rows() -> None:
            nonlocal sent
            for _ in range(portions):
                sent = spark.send(bootstrap, source, sent, portion_size)

        def wait_for_progress(count_before: int, driver: int) -> None:
            """Wait until the query has committed more rows than before; send more if it takes long."""
            polls = 0

            def poll() -> bool:
                nonlocal polls
                polls += 1
                spark.assert_running(driver, folder)
                if polls % _POLLS_PER_SEND == 0:
                    send_rows()
                return committed_count() > count_before

            wait_until(poll, "progress", _TIMEOUT)

        for driver_index in range(count):
            with spark.running_query(bootstrap, source, target, folder, master, query) as (python, java):
                count_before = committed_count()
                send_rows()
                wait_for_progress(count_before, python)
                for _ in range(3 if driver_index % 2 else 0):
                    count_before = committed_count()
                    send_rows()
                    time.sleep(rng.uniform(0, 0.5))  # at a random point of a batch
                    killed += spark.kill(processes(java))
                    wait_for_progress(count_before, python)
                send_until = time.monotonic() + rng.uniform(0, 3)
                while time.monotonic() < send_until:
                    send_rows()
                killed += spark.kill([java, python]) // 2  # the two processes of one driver
        with spark.running_query(bootstrap, source, target, folder, master, query):
            if query == "window":
                spark.send(bootstrap, source, sent + WINDOW_CLOSING_NUMBER, portion_size)
            wait_until(
                lambda: evaluate(query, spark.committed_rows(bootstrap, target), sent).lost <= 0,
                "all rows",
                _TIMEOUT,
            )
            time.sleep(2)  # rows that arrive now would be duplicates
            outcome = evaluate(query, spark.committed_rows(bootstrap, target), sent)
    outcome.repetitions = killed
    return outcome
