"""Throttle the query with quotas of bytes written, bytes read and request time."""

from __future__ import annotations

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.options.connector import DIRECT
from tests.chaos.client_record import throttle_times
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.quotas import set_quotas
from tests.chaos.run import running

_CLIENT = "throttled"  # the client.id of the query; other clients have no quotas
_WINDOW = {"quota.window.num": 2, "quota.window.size.seconds": 1}  # rates are averaged over so many seconds
_MIN_RATE = 5_000  # bytes per second
_REQUEST_PERCENTAGE = 1.0  # of a thread
# quotas -> requests that brokers throttle
_CASES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("producer_byte_rate",): ("Produce",),
    ("consumer_byte_rate",): ("Fetch",),
    ("request_percentage",): (),  # all requests count, so any may be throttled
    ("producer_byte_rate", "consumer_byte_rate", "request_percentage"): ("Produce", "Fetch"),
}


def scenario(config: ScenarioConfig) -> Outcome:
    """Set quotas that the query exceeds, in turn, and check that brokers have throttled it.

    The throttle time is recorded by the direct client only.
    """
    client_id = {"properties.client.id": _CLIENT}
    with (
        EmbeddedKafka(properties=_WINDOW) as kafka,
        running(kafka.bootstrap_servers, config, source_options=client_id, sink_options=client_id) as run,
    ):
        run.start()
        run.send(config.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(config.repeat):
            quotas, throttled = list(_CASES.items())[i % len(_CASES)]
            before = throttle_times(run.query.folder)
            set_quotas(kafka, _CLIENT, {name: _limit(name, config.rows_per_fault) for name in quotas})
            run.send(config.rows_per_fault)
            run.wait_until_caught_up()
            set_quotas(kafka, _CLIENT, dict.fromkeys(quotas))
            after = throttle_times(run.query.folder)
            times = {name: after[name] - before.get(name, 0) for name in after}
            config.log(f"{i + 1} {', '.join(quotas)}: throttled for {times} ms")
            if config.client == DIRECT:
                assert sum(times.values()) > 0, f"{quotas}: no request was throttled"
                assert all(times.get(name) for name in throttled), f"{quotas}: only {times} ms"
        outcome = run.finish(config.repeat)
        outcome.notes.append(f"throttled for {sum(throttle_times(run.query.folder).values()) / 1000:.0f} s")
        return outcome


def _limit(name: str, rows: int) -> float:
    """Return a quota with which the query takes a few seconds: a compressed row has several bytes.

    Brokers never return a batch that is larger than the quota of a window.
    """
    return _REQUEST_PERCENTAGE if name == "request_percentage" else float(max(rows, _MIN_RATE))
