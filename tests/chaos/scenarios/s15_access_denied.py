"""Break authentication and authorization (certificates, passwords, ACLs): the error names the cause."""

from __future__ import annotations

from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.kafka.config.test_security import FAILURES, test_failure
from tests.secured_broker import SecuredBroker, secured_broker
from tests.waiting import wait_until

TOPIC, TRANSACTIONAL_ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
READ, WRITE = AclOperation.READ, AclOperation.WRITE


def scenario(config: ScenarioConfig) -> Outcome:
    """Run the failure cases of the security test; then revoke ACLs of a running query, and grant them again."""
    folder = config.folder / "broker"
    folder.mkdir()
    with secured_broker(folder) as secured:
        cases = 0
        for name, case in list(FAILURES.items())[: None if config.long else 4]:
            test_failure(name, {name: _connection_error(case.properties(secured, folder))})
            cases += 1
            config.log(f"rejected: {name}")
        credentials = {f"properties.{key}": value for key, value in secured.properties("SASL", "PLAIN").items()}
        credentials.pop("properties.bootstrap.servers")
        with running(
            secured.kafka.bootstrap_servers,
            config,
            driver_bootstrap=secured.server("SASL"),
            source_options=credentials,
            sink_options=credentials,
        ) as run:
            # resource type, resource name, operation, fragment of the error without the ACL
            acls = {
                "source": (TOPIC, run.query.source, READ, "Grant the user"),
                "target": (TOPIC, run.query.target, WRITE, "WRITE"),
                "transactions": (TRANSACTIONAL_ID, f"{run.query.prefix}*", WRITE, "sink.transactional-id-prefix"),
                "decisions": (TOPIC, LOG_TOPIC, WRITE, LOG_TOPIC),
            }
            for resource_type, resource, operation, _ in acls.values():
                secured.allow("user", resource_type, resource, operation)
            for topic in (run.query.target, LOG_TOPIC):
                secured.allow("user", TOPIC, topic, READ)
            secured.allow("user", TOPIC, LOG_TOPIC, AclOperation.CREATE)
            for i in range(config.repeat):
                run.start()
                run.send(config.rows_per_fault // 2)
                run.wait_until_caught_up()
                name, (resource_type, resource, operation, expected) = list(acls.items())[i % len(acls)]
                _revoke(secured, resource_type, resource, operation)
                run.send(config.rows_per_fault - config.rows_per_fault // 2)
                _send_until_failure(run)
                error = run.wait_for_failure()
                assert expected in error, error
                assert "AuthorizationError" in error, error
                secured.allow("user", resource_type, resource, operation)
                config.log(f"{i + 1} revoked and granted again: {name}")
                run.start()
                run.wait_until_caught_up()
                run.kill()
            outcome = run.finish(config.repeat)
    outcome.repetitions += cases
    return outcome


def _send_until_failure(run: PipelineRun) -> None:
    """Send rows until the driver has failed. Brokers apply a deleted ACL with a delay."""

    def poll() -> bool:
        run.send(10)
        return not run.driver.is_alive()

    wait_until(poll, "failure of the driver without the ACL")


def _connection_error(properties: dict[str, str]) -> KafkaSqlError | None:
    """Connect to the broker, and return the error; None if there is none."""
    try:
        Cluster(to_librdkafka(properties)).topics()
    except KafkaSqlError as e:
        return e
    return None


def _revoke(secured: SecuredBroker, resource_type: ResourceType, name: str, operation: AclOperation) -> None:
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    rule = AclBindingFilter(
        resource_type, name.rstrip("*"), pattern, "User:user", "*", operation, AclPermissionType.ALLOW
    )
    secured.admin.delete_acls([rule])[rule].result(30)
    wait_until(lambda: not secured.admin.describe_acls(rule).result(30), "deletion of an ACL")
