"""Delete unread records: the query fails, names them and writes nothing, or, if so configured, skips only them."""

from __future__ import annotations

import os
import signal

from confluent_kafka import TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import KEYS, PARTITIONS, PipelineRun, running


def scenario(config: ScenarioConfig) -> Outcome:
    """Delete records while the driver is killed, and while it is frozen."""
    lost = 0
    tolerant = {"scan.fail-on-data-loss": "false"}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config) as run:
        run.send(KEYS)
        run.start()
        run.wait_until_caught_up()
        for i in range(config.repeat):
            if i % 2:
                os.kill(run.driver.pid, signal.SIGSTOP)
            else:
                run.kill()
            run.send(config.rows_per_fault)
            run.flush()
            deleted = delete_unread_records(run, i % PARTITIONS, 1 + config.rows_per_fault // 10)
            location = f"{run.query.source}[{i % PARTITIONS}]@"
            if i % 2:
                before = run.watch.seen.value
                os.kill(run.driver.pid, signal.SIGCONT)
                error = run.wait_for_failure()
                assert location in error, error
                assert run.watch.seen.value == before, "a driver that failed has written rows"
            run.assert_start_fails(location, f"{deleted} offsets are lost")
            lost += deleted
            run.start(source_options={**run.query.source_options, **tolerant})
            run.wait_until_caught_up(run.sent - lost)
            run.kill()
            run.start()  # with the default again
            config.log(f"{i + 1} {deleted} deleted")
        outcome = run.finish(config.repeat, run.sent - lost)
        outcome.notes.append(f"{lost} deleted, and reported")
        return outcome


def delete_unread_records(run: PipelineRun, partition: int, count: int) -> int:
    """Delete unread records, as retention would. Return how many."""
    done = max((run.query.folder / "done").iterdir(), key=lambda path: int(path.name)).name
    offset = run.offsets(int(done))[partition] + count
    end = TopicPartition(run.query.source, partition, offset)
    run.admin.delete_records([end])[end].result(60)
    return count
