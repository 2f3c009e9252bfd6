"""Send 1 % undecodable records: the query fails and names the offset, or writes them to a dead-letter topic."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running

POISON = (
    b"{",
    b"[1]",
    b"\xff\xfe",
    b'{"a": "x", "k": 1}',
    b'{"a": 1.5e400, "k": 1}',
    b'{"a": 99999999999999999999, "k": 1}',
    b'{"a": 1, "k": {"k": 1}}',
    b'{"a": 1, "k": 1',
    b"\0\0\0\0\1\2\3",
    b'"' + b"x" * 100_000,
    b"[" * 5_000,
)
_EACH = 100


def scenario(config: ScenarioConfig) -> Outcome:
    """In the default mode, the query fails; with dead letters, it continues, also after a restart."""
    dead_letters = {"error-handling.mode": "log"}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config.folder) as run:
        dead = f"{run.query.source}-dead"
        run.create_topic(dead, 1)
        lenient = {**run.query.reading, **dead_letters, "error-handling.log.target": dead}
        poisoned = 0
        for i in range(config.repeat):
            sent = 0
            while sent < config.rows_per_fault:
                run.send(min(_EACH - 1, config.rows_per_fault - sent))
                sent += _EACH - 1
                run.produce(run.query.source, poisoned % 3, POISON[poisoned % len(POISON)])
                poisoned += 1
            run.flush()
            run.assert_start_fails(f"{run.query.source}[", "]@")
            run.start(reading=lenient)
            run.wait_until_caught_up()
            run.kill()
            config.log(f"{i + 1} {poisoned} undecodable records")
        run.start(reading=lenient)
        outcome = run.finish(config.repeat)
        values = letters(run, dead)
        # a replayed batch writes its dead letters again
        assert set(values) == {POISON[n % len(POISON)] for n in range(poisoned)}, "dead letters differ from the records"
        assert len(values) >= poisoned, f"{poisoned} undecodable records, but {len(values)} dead letters"
        outcome.notes.append(f"{poisoned} dead letters")
        return outcome


def letters(run: PipelineRun, topic: str) -> list[bytes]:
    """Return the values of a topic with one partition."""
    consumer = Consumer({"bootstrap.servers": run.bootstrap, "group.id": "chaos", "log_level": 0})
    partition = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=60)
    consumer.assign([partition])
    values: list[bytes] = []
    while len(values) < end:
        for message in consumer.consume(1000, 30):
            assert message.error() is None, message.error()
            values.append(message.value() or b"")
    consumer.close()
    return values
