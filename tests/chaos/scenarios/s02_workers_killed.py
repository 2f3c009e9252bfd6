"""Kill workers, executors and drivers of Spark within batches of a copy, an aggregate and a windowed query."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Final

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import wait_until
from tests.chaos.expected_rows import CLOSING, evaluate
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.kills import spark
from tests.topics import Topics

_TIMEOUT: Final = 400.0  # seconds
# The watermark delay of two minutes is more than the skew between partitions, but less than two sends.
_SENDS: Final = {"window": 2}
_MIN_SENDS: Final = 5  # how often rows are sent to a query over all its drivers
# polls without progress, after which more rows are sent: windows are only written when later rows arrive
_SEND_AFTER: Final = 10


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
    """Start and kill drivers; for every second driver, also kill its workers or executors while they work."""
    folder.mkdir(parents=True, exist_ok=True)
    sends = _SENDS.get(query, 1)
    portion = -(-rows // (_MIN_SENDS * sends))
    processes = spark.workers if master.startswith("local[") else spark.executors
    with EmbeddedKafka() as kafka:
        bootstrap, topics = kafka.bootstrap_servers, Topics(kafka.bootstrap_servers)
        source, target = topics.create(spark.KEYS), topics.create(spark.KEYS)
        sent = killed = 0

        def send_more() -> int:
            nonlocal sent
            before = len(spark.committed_rows(bootstrap, target))
            for _ in range(sends):
                sent = spark.send(bootstrap, source, sent, portion)
            return before

        def wait_for_progress(before: int, driver: int) -> None:
            polls = 0

            def poll() -> bool:
                nonlocal polls
                polls += 1
                spark.assert_running(driver, folder)
                if polls % _SEND_AFTER == 0:
                    send_more()
                return len(spark.committed_rows(bootstrap, target)) > before

            wait_until(poll, "progress", _TIMEOUT)

        for number in range(count):
            with spark.running_query(bootstrap, source, target, folder, master, query) as (python, java):
                wait_for_progress(send_more(), python)
                for _ in range(3 if number % 2 else 0):
                    before = send_more()
                    time.sleep(rng.uniform(0, 0.5))  # at a random point of a batch
                    killed += spark.kill(processes(java))
                    wait_for_progress(before, python)
                send_until = time.monotonic() + rng.uniform(0, 3)
                while time.monotonic() < send_until:
                    send_more()
                killed += spark.kill([java, python]) // 2
        with spark.running_query(bootstrap, source, target, folder, master, query):
            if query == "window":
                spark.send(bootstrap, source, sent + CLOSING, portion)
            wait_until(
                lambda: evaluate(query, spark.committed_rows(bootstrap, target), sent).lost <= 0,
                "all rows",
                _TIMEOUT,
            )
            time.sleep(2)  # rows that arrive now would be duplicates
            outcome = evaluate(query, spark.committed_rows(bootstrap, target), sent)
    outcome.repetitions = killed
    return outcome
