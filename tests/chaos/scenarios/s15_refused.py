"""An expired certificate, a wrong password, a right that is missing: the cause is named, and nothing is written."""

from __future__ import annotations

from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC
from tests.chaos.clusters import wait_until
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.kafka.config.test_security import REFUSALS, test_refused
from tests.secured_broker import Secured, secured_broker

TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
READ, WRITE = AclOperation.READ, AclOperation.WRITE


def scenario(asked: ScenarioConfig) -> Outcome:
    """Each refusal that a test knows; then rights that are taken away from a running query, and given back."""
    folder = asked.folder / "broker"
    folder.mkdir()
    with secured_broker(folder) as secured:
        told = 0
        for name, case in list(REFUSALS.items())[: None if asked.long else 4]:
            test_refused(name, {name: _error(case.change(secured, folder))})
            told += 1
            asked.log(f"refused: {name}")
        login = {f"properties.{key}": value for key, value in secured.properties("SASL", "PLAIN").items()}
        login.pop("properties.bootstrap.servers")
        with running(
            secured.kafka.bootstrap_servers,
            asked.folder,
            through=secured.server("SASL"),
            reading=login,
            writing=login,
        ) as run:
            rights = {
                "source": (TOPIC, run.query.source, READ, "Grant the user"),
                "target": (TOPIC, run.query.target, WRITE, "WRITE"),
                "transactions": (ID, f"{run.query.prefix}*", WRITE, "sink.transactional-id-prefix"),
                "decisions": (TOPIC, LOG_TOPIC, WRITE, LOG_TOPIC),
            }
            for kind, subject, operation, _ in rights.values():
                secured.allow("user", kind, subject, operation)
            for subject in (run.query.target, LOG_TOPIC):
                secured.allow("user", TOPIC, subject, READ)
            secured.allow("user", TOPIC, LOG_TOPIC, AclOperation.CREATE)
            for i in range(asked.repeat):
                run.start()
                run.send(asked.rows_per_fault // 2)
                run.wait_until_caught_up()
                name, (kind, subject, operation, words) = list(rights.items())[i % len(rights)]
                _revoke(secured, kind, subject, operation)
                run.send(asked.rows_per_fault - asked.rows_per_fault // 2)
                wait_until(lambda: _sends_more(run), "the end of a driver that may not go on")
                said = run.wait_for_failure()
                assert words in said, said
                assert "AuthorizationError" in said, said
                secured.allow("user", kind, subject, operation)
                asked.log(f"{i + 1} taken away and given back: {name}")
                run.start()
                run.wait_until_caught_up()
                run.kill()
            outcome = run.finish(asked.repeat)
    outcome.repetitions += told
    return outcome


def _sends_more(run: PipelineRun) -> bool:
    """The brokers learn of a rule that is gone by and by."""
    run.send(10)
    return not run.driver.is_alive()


def _error(properties: dict[str, str]) -> KafkaSqlError | None:
    try:
        Cluster(to_librdkafka(properties)).topics()
    except KafkaSqlError as e:
        return e
    return None


def _revoke(secured: Secured, kind: ResourceType, name: str, operation: AclOperation) -> None:
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    rule = AclBindingFilter(kind, name.rstrip("*"), pattern, "User:user", "*", operation, AclPermissionType.ALLOW)
    secured.admin.delete_acls([rule])[rule].result(30)
    wait_until(lambda: not secured.admin.describe_acls(rule).result(30), "the end of an access rule")
