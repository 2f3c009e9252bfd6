"""Retention overtakes the reader: it says what is gone and writes nothing; told to go on, it loses just that."""

from __future__ import annotations

import os
import signal

from confluent_kafka import TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import KEYS, PARTITIONS, PipelineRun, running


def scenario(asked: ScenarioConfig) -> Outcome:
    """Of a driver that is down, and of one that is frozen."""
    gone = 0
    going_on = {"scan.fail-on-data-loss": "false"}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, asked.folder) as run:
        run.send(KEYS)
        run.start()
        run.wait_until_caught_up()
        for i in range(asked.repeat):
            if i % 2:
                os.kill(run.driver.pid, signal.SIGSTOP)
            else:
                run.kill()
            run.send(asked.rows_per_fault)
            run.flush()
            removed = remove(run, i % PARTITIONS, 1 + asked.rows_per_fault // 10)
            words = f"{run.query.source}[{i % PARTITIONS}]@"
            if i % 2:
                before = run.watch.seen.value
                os.kill(run.driver.pid, signal.SIGCONT)
                said = run.wait_for_failure()
                assert words in said, said
                assert run.watch.seen.value == before, "rows were written by a driver that refused"
            run.assert_start_fails(words, f"{removed} offsets are lost")
            gone += removed
            run.start(reading={**run.query.reading, **going_on})
            run.wait_until_caught_up(run.sent - gone)
            run.kill()
            run.start()  # one that does not go on
            asked.log(f"{i + 1} {removed} removed")
        outcome = run.finish(asked.repeat, run.sent - gone)
        outcome.notes.append(f"{gone} removed, and named")
        return outcome


def remove(run: PipelineRun, partition: int, count: int) -> int:
    """Remove so many records that were not read yet, as retention would; how many."""
    done = max((run.query.folder / "done").iterdir(), key=lambda path: int(path.name)).name
    at = run.offsets(int(done))[partition] + count
    place = TopicPartition(run.query.source, partition, at)
    run.admin.delete_records([place])[place].result(60)
    return count
