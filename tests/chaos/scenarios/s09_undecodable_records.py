"""Send 1 % undecodable records: the query fails and names the offset, or writes them to a dead-letter topic."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running

BAD_PAYLOADS = (
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
_INTERVAL = 100  # one of so many records is undecodable


def scenario(config: ScenarioConfig) -> Outcome:
    """In the default mode, the query fails; with dead letters, it continues, also after a restart."""
    dead_letters = {"error-handling.mode": "log"}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config) as run:
        dead_letter_topic = f"{run.query.source}-dead"
        run.create_topic(dead_letter_topic, 1)
        lenient = {**run.query.source_options, **dead_letters, "error-handling.log.target": dead_letter_topic}
        bad_count = 0
        for i in range(config.repeat):
            sent = 0
            while sent < config.rows_per_fault:
                run.send(min(_INTERVAL - 1, config.rows_per_fault - sent))
                sent += _INTERVAL - 1
                run.produce(run.query.source, bad_count % 3, BAD_PAYLOADS[bad_count % len(BAD_PAYLOADS)])
                bad_count += 1
            run.flush()
            run.assert_start_fails(f"{run.query.source}[", "]@")
            run.start(source_options=lenient)
            run.wait_until_caught_up()
            run.kill()
            config.log(f"{i + 1} {bad_count} undecodable records")
        run.start(source_options=lenient)
        outcome = run.finish(config.repeat)
        values = read_values(run, dead_letter_topic)
        # a replayed batch writes its dead letters again
        assert set(values) == {BAD_PAYLOADS[n % len(BAD_PAYLOADS)] for n in range(bad_count)}, (
            "dead letters differ from the records"
        )
        assert len(values) >= bad_count, f"{bad_count} undecodable records, but {len(values)} dead letters"
        outcome.notes.append(f"{bad_count} dead letters")
        return outcome


def read_values(run: PipelineRun, topic: str) -> list[bytes]:
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
