"""Workers, executors and drivers of Spark are killed in the middle of batches: of a copy, an aggregate, a window."""

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

_PATIENCE: Final = 400.0  # seconds
# a watermark of two minutes: more than one partition may be ahead of another, less than these two sends
_SENDS: Final = {"window": 2}
_LEAST: Final = 5  # times that rows are sent to a query, its lives taken together
_AGAIN: Final = 10  # looks, after which more is sent: a window is written when later rows come


def scenario(asked: ScenarioConfig) -> Outcome:
    """Each query, in local mode and on executors that are processes of their own."""
    outcome, chance = Outcome(), asked.rng()
    masters = ("local[2,8]", "local-cluster[2,1,1024]") if asked.long else ("local[2,8]",)
    questions = spark.QUERIES if asked.long else ("window",)
    cases = len(masters) * len(questions)
    count, rows = max(2, asked.repeat // (2 * cases)), asked.rows // cases
    for master in masters:
        for question in questions:
            found = lives(asked.folder / f"{question}-{len(master)}", master, count, rows, question, chance)
            asked.log(f"{question} on {master}: {found}")
            outcome += found
    return outcome


def lives(folder: Path, master: str, count: int, rows: int, question: str, chance: random.Random) -> Outcome:
    """Drivers in each life; in every second one, what works for it, while it works: workers, or executors with them."""
    folder.mkdir(parents=True, exist_ok=True)
    sends = _SENDS.get(question, 1)
    portion = -(-rows // (_LEAST * sends))
    processes = spark.workers if master.startswith("local[") else spark.executors
    with EmbeddedKafka() as kafka:
        bootstrap, topics = kafka.bootstrap_servers, Topics(kafka.bootstrap_servers)
        source, target = topics.create(spark.KEYS), topics.create(spark.KEYS)
        sent = killed = 0

        def more() -> int:
            nonlocal sent
            before = len(spark.committed_rows(bootstrap, target))
            for _ in range(sends):
                sent = spark.send(bootstrap, source, sent, portion)
            return before

        def progress(before: int, driver: int) -> None:
            looks = 0

            def look() -> bool:
                nonlocal looks
                looks += 1
                spark.assert_running(driver, folder)
                if looks % _AGAIN == 0:
                    more()
                return len(spark.committed_rows(bootstrap, target)) > before

            wait_until(look, "progress", _PATIENCE)

        for life in range(count):
            with spark.running_query(bootstrap, source, target, folder, master, question) as (python, java):
                progress(more(), python)
                for _ in range(3 if life % 2 else 0):
                    before = more()
                    time.sleep(chance.uniform(0, 0.5))  # into a batch, at any place of it
                    killed += spark.kill(processes(java))
                    progress(before, python)
                send_until = time.monotonic() + chance.uniform(0, 3)
                while time.monotonic() < send_until:
                    more()
                killed += spark.kill([java, python]) // 2
        with spark.running_query(bootstrap, source, target, folder, master, question):
            if question == "window":
                spark.send(bootstrap, source, sent + CLOSING, portion)
            wait_until(
                lambda: evaluate(question, spark.committed_rows(bootstrap, target), sent).lost <= 0,
                "all rows",
                _PATIENCE,
            )
            time.sleep(2)  # what comes now is too much
            outcome = evaluate(question, spark.committed_rows(bootstrap, target), sent)
    outcome.repetitions = killed
    return outcome
