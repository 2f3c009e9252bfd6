"""Emit OpenLineage events of INSERT statements: the topics that a job reads and writes.

OpenLineage's own Spark listener does not see them: in Spark's plans, the table of a Python data source has no
properties. Datasets are named as its documentation says (Naming Conventions: Kafka).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.options import dynamic
from kafka_sql.version import VERSION

_LOG = logging.getLogger(__name__)
_PREFIX: Final = "OPENLINEAGE_"  # of the variables with which the client is configured
_DISABLED: Final = "OPENLINEAGE_DISABLED"
_PRODUCER: Final = f"kafka_sql/{VERSION}"


def is_enabled() -> bool:
    """Return whether the package openlineage-python is installed, and configured by environment variables."""
    if os.environ.get(_DISABLED, "").lower() == "true" or not any(key.startswith(_PREFIX) for key in os.environ):
        return False
    return importlib.util.find_spec("openlineage") is not None


@dataclass(frozen=True)
class LineageRun:
    """One run of a job."""

    job: str
    id: str  # a UUID
    sources: Sequence[Definition]
    targets: Sequence[Definition]
    is_streaming: bool

    def complete(self) -> None:
        """Report that the job has finished."""
        _emit(self, "COMPLETE")

    def abort(self) -> None:
        """Report that a user has stopped the job."""
        _emit(self, "ABORT")

    def fail(self, message: str) -> None:
        """Report that the job has failed.

        Args:
            message: the error, without secrets.
        """
        _emit(self, "FAIL", message)


def start_run(
    job: str, sources: Sequence[Definition], targets: Sequence[Definition], *, is_streaming: bool, run_id: str = ""
) -> LineageRun | None:
    """Report that a job starts; return None if lineage is not enabled.

    Args:
        run_id: the UUID of the run; a new one if empty.
    """
    if not is_enabled():
        return None
    run = LineageRun(job, run_id or str(uuid.uuid4()), sources, targets, is_streaming)
    _emit(run, "START")
    return run


def _emit(run: LineageRun, event_type: str, error: str = "") -> None:
    """Emit an event in the background: the client repeats failed requests for seconds."""
    _emitter().submit(_emit_event, run, event_type, error, datetime.now(timezone.utc))


def _emit_event(run: LineageRun, event_type: str, error: str, time: datetime) -> None:
    """Emit an event. A failure is logged: it must not fail the job."""
    try:
        _client().emit(_event(run, event_type, error, time))
    except Exception as e:  # noqa: BLE001  # of any transport
        _LOG.warning("Job '%s': the OpenLineage event %s was not emitted: %s", run.job, event_type, e)


@cache
def _emitter() -> ThreadPoolExecutor:
    """Return the thread that emits the events in their order; the program waits for it when it exits."""
    return ThreadPoolExecutor(1, "kafka_sql-lineage")


@cache
def _client() -> Any:
    from openlineage.client import OpenLineageClient

    return OpenLineageClient()


def _event(run: LineageRun, event_type: str, error: str, time: datetime) -> Any:
    from openlineage.client import event_v2 as events
    from openlineage.client.facet_v2 import error_message_run, job_type_job

    job_type = job_type_job.JobTypeJobFacet("STREAMING" if run.is_streaming else "BATCH", "SPARK", "QUERY")
    failure = {"errorMessage": error_message_run.ErrorMessageRunFacet(error, "SQL")} if error else {}
    return events.RunEvent(
        eventTime=time.isoformat(),
        producer=_PRODUCER,
        eventType=events.RunState(event_type),
        run=events.Run(run.id, dict(failure)),
        job=events.Job(os.environ.get("OPENLINEAGE_NAMESPACE") or "default", run.job, {"jobType": job_type}),
        inputs=[
            events.InputDataset(namespace, topic, facets=facets)
            for table in run.sources
            for namespace, topic, facets in _datasets(table)
        ],
        outputs=[
            events.OutputDataset(namespace, topic, facets=facets)
            for table in run.targets
            for namespace, topic, facets in _datasets(table)
        ],
    )


def _datasets(table: Definition) -> list[tuple[str, str, dict[str, Any]]]:
    """Return namespace, name and facets of a table's topics; of a pattern, the pattern is the name."""
    from openlineage.client.facet_v2 import schema_dataset

    if table.is_dynamic and table.options[dynamic.METADATA_SERVICE] == dynamic.SINGLE_CLUSTER:
        listed, pattern = table.options.get(dynamic.STREAM_IDS), table.options.get(dynamic.STREAM_PATTERN)
    else:
        listed, pattern = table.options.get(opt.TOPIC), table.options.get(opt.TOPIC_PATTERN)
    topics = listed or [pattern]
    if topics == [None]:  # a table without topics, such as one of print, or whose metadata service names the clusters
        return []
    fields = [schema_dataset.SchemaDatasetFacetFields(c.name, str(c.type)) for c in table.table.physical_columns]
    namespace = f"kafka://{table.client_config['bootstrap.servers'].split(',')[0].strip()}"
    return [(namespace, str(topic), {"schema": schema_dataset.SchemaDatasetFacet(list(fields))}) for topic in topics]
