"""Break the schema registry when records with a new schema arrive: down, unauthorized, slow, unknown schema id."""

from __future__ import annotations

import time

import pytest

from kafka_sql.embedded import EmbeddedKafka, EmbeddedRegistry
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.formats.avro_confluent import test_avro_confluent
from tests.registry_helpers import RegistryProxy, clear_registry_clients, encode_avro, register, run_registry_proxy

FAULTS = ("down", "401", "slow", "unknown id")
_DOWN, _SLOW = 3.0, 2.0  # seconds


def scenario(config: ScenarioConfig) -> Outcome:
    """Retriable failures are retried. Others stop the query, and a new driver continues after the repair."""
    with EmbeddedKafka() as kafka, EmbeddedRegistry() as registry, run_registry_proxy(registry.url) as (url, proxy):
        source_options = {"format": "avro-confluent", "avro-confluent.url": url}
        with running(kafka.bootstrap_servers, config, source_options=source_options) as run:
            for i in range(config.repeat):
                schema = _schema(i)
                schema_id = register(registry, "numbers-value", schema)
                run.encode = lambda a, k, i=schema_id, s=schema: encode_avro(i, s, {"a": a, "k": k})  # type: ignore[method-assign,misc]
                if run.driver is None or not run.driver.is_alive():
                    run.start()
                fault = FAULTS[i % len(FAULTS)]
                _break(proxy, fault)
                run.send(config.rows_per_fault)
                run.flush()
                if fault in ("401", "unknown id"):
                    _expect_failure(run, fault, url, schema_id)
                else:
                    time.sleep(_DOWN)
                _repair(proxy)
                if not run.driver.is_alive():
                    run.start()
                run.wait_until_caught_up()
                config.log(f"{i + 1} {fault}")
            outcome = run.finish(config.repeat)
        if config.long:
            clear_registry_clients()
            with pytest.MonkeyPatch.context() as patched:
                test_avro_confluent.test_registry_restart(registry, patched)
    return outcome


def _expect_failure(run: PipelineRun, fault: str, url: str, schema_id: int) -> None:
    expected = (url, "rejected the credentials" if fault == "401" else f"schema id {schema_id} not found")
    error = run.wait_for_failure()
    assert all(part in error for part in expected), error
    run.assert_start_fails(*expected)


def _break(proxy: type[RegistryProxy], fault: str) -> None:
    if fault == "down":
        proxy.failing_requests, proxy.request_count = 10**9, 0
    elif fault == "401":
        proxy.expected_authorization = "Basic another"
    elif fault == "slow":
        proxy.delay = _SLOW
    else:
        proxy.returns_not_found = True


def _repair(proxy: type[RegistryProxy]) -> None:
    proxy.failing_requests, proxy.expected_authorization, proxy.delay, proxy.returns_not_found = 0, "", 0.0, False


def _schema(version: int) -> dict[str, object]:
    new_fields = [{"name": f"more{i}", "type": "long", "default": i} for i in range(version + 1)]
    fields = [{"name": "a", "type": "long"}, {"name": "k", "type": "long"}, *new_fields]
    return {"type": "record", "name": "Numbers", "fields": fields}
