"""A broker of three is frozen: requests are completed by the others, whatever its roles were.

The time limit for a cluster that never responds is shorter than an election. ``make chaos`` has the statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient

from kafka_sql.embedded import EmbeddedKafka, Node
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import create_log
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.produce import open_producer
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.split import Split
from kafka_sql.options.connector import DIRECT, LIBRDKAFKA
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
TOPIC, PARTITIONS, COUNT = "frozen", 6, 600
VALUES = pa.array([b"%d" % i for i in range(COUNT)], pa.binary())


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    # by default, a broker waits for half a minute for the response of a controller that is frozen
    settings = {"broker.session.timeout.ms": 4_000, "controller.socket.timeout.ms": 2_000}
    with EmbeddedKafka(nodes=3, properties=settings) as cluster:
        yield cluster


def controller(kafka: EmbeddedKafka) -> Node:
    """Return the node that brokers name as the controller to clients."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    number = admin.list_topics(timeout=30).controller_id
    return next(node for node in kafka.nodes if node.id == number)


def write(config: dict[str, str], client: str) -> int:
    with open_producer(client, config, TOPIC, "t") as producer:
        producer.produce(VALUES)
        producer.flush()
    return COUNT


def write_in_transaction(config: dict[str, str], client: str) -> int:
    settings = {**config, "transaction.timeout.ms": "600000"}
    with open_producer(client, settings, TOPIC, "t", f"id-{client}") as producer:
        producer.produce(VALUES)
        producer.flush()
    with closing(TransactionAdmin(config)) as transactions:
        description = transactions.describe([f"id-{client}"])[f"id-{client}"]
        assert description is not None
        target = EndTxnTarget(f"id-{client}", description.producer_id, description.producer_epoch)
        assert transactions.commit([target]) == {f"id-{client}": 0}
    return COUNT


def create_topic(config: dict[str, str], client: str) -> int:
    cluster = Cluster(config)
    ensure_topics(cluster, (f"new-{client}",), TopicSettings(1, 3, {}), "t", {})
    assert len(cluster.partitions((f"new-{client}",))) == 1
    return 0


def commit(config: dict[str, str], client: str) -> int:
    cluster = Cluster(config)
    cluster.commit(client, {(TOPIC, 0): 5}).result(120)
    assert cluster.committed(client, [(TOPIC, 0)]) == {(TOPIC, 0): 5}
    return 0


def count_rows(config: dict[str, str], client: str) -> int:
    cluster = Cluster(config)
    ends = cluster.latest(cluster.partitions((TOPIC,)))
    splits = [Split(topic, partition, 0, end) for (topic, partition), end in ends.items()]
    return sum(len(records.offsets) for split in splits for records in read_records(config, split, client=client))


@pytest.mark.long
def test_each_request_is_completed_by_the_other_brokers(kafka: EmbeddedKafka) -> None:
    properties = {"socket.connection.setup.timeout.ms": "3000", "request.timeout.ms": "3000"}
    config = to_librdkafka(
        {"bootstrap.servers": kafka.bootstrap_servers, "isolation.level": "read_committed", **properties}
    )
    ensure_topics(Cluster(config), (TOPIC,), TopicSettings(PARTITIONS, 3, {}), "t", {})
    write(config, DIRECT)  # creates the topics of groups and transactions, as the next two requests do
    commit(config, "warm-up")
    create_log(config)
    expected = write_in_transaction(config, DIRECT) + COUNT
    requests: tuple[Callable[[dict[str, str], str], int], ...] = write, write_in_transaction, create_topic, commit
    frozen = controller(kafka)
    frozen.pause()
    try:
        with ThreadPoolExecutor(2 * len(requests)) as threads:
            written = [
                threads.submit(request, config, client) for request in requests for client in (DIRECT, LIBRDKAFKA)
            ]
            expected += sum(result.result() for result in written)
        for client in (DIRECT, LIBRDKAFKA):  # committed rows are visible when the markers of their transactions are
            wait_until(lambda client=client: count_rows(config, client) == expected, "all rows")  # type: ignore[misc]
    finally:
        frozen.resume()
