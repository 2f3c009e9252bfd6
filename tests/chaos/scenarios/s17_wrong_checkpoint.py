"""Start from a wrong checkpoint: an old copy, another query's, corrupt, or ahead of the topic."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running


def scenario(config: ScenarioConfig) -> Outcome:
    """A new driver must reject each of them and write nothing. With the right checkpoint, it continues."""
    outcome = Outcome()
    # so that an old copy is several batches old
    limit = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 8))}
    with EmbeddedKafka() as kafka:
        for i in range(config.repeat):
            name, (corrupt, expected) = list(CASES.items())[i % len(CASES)]
            with running(kafka.bootstrap_servers, config.folder, source_options=limit) as run:
                folder, old, right = run.query.folder, config.folder / "old", config.folder / "right"
                run.start()
                run.send(config.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                copy_checkpoint(folder, old)
                run.start()
                run.send(config.rows_per_fault - config.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                copy_checkpoint(folder, right)
                corrupt(run, old)
                run.assert_start_fails(*expected)
                copy_checkpoint(right, folder)
                outcome += run.finish(1)
                config.log(f"{i + 1} {name}")
    return outcome


def copy_checkpoint(folder: Path, copy: Path) -> None:
    """Replace ``copy`` by a copy of the checkpoint."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)


def _old(run: PipelineRun, old: Path) -> None:
    copy_checkpoint(old, run.query.folder)


def _last(run: PipelineRun) -> Path:
    """Return the last plan, and mark it as done, so that the next batch starts at its end."""
    folder = run.query.folder
    last = max((folder / "planned").iterdir(), key=lambda path: int(path.name))
    (folder / "done" / last.name).touch()
    return last


def _change(run: PipelineRun, change: Callable[[str], str]) -> None:
    last = _last(run)
    last.write_text(change(last.read_text()))


def _other_query(run: PipelineRun, _: Path) -> None:
    _change(run, lambda text: text.replace(run.query.source, "another-topic"))


def _ahead(run: PipelineRun, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        for offsets in plan["end"]["offsets"].values():
            offsets.update({partition: offset + 1_000_000 for partition, offset in offsets.items()})
        return json.dumps(plan)

    _change(run, change)


def _later(run: PipelineRun, _: Path) -> None:
    _change(run, lambda text: text.replace('"version": 2', '"version": 9'))


def _corrupt(run: PipelineRun, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        plan["end"]["offsets"] = dict.fromkeys(plan["end"]["offsets"], "corrupt")
        return json.dumps(plan)

    _change(run, change)


# name -> how the checkpoint is changed, and expected parts of the error
CASES: dict[str, tuple[Callable[[PipelineRun, Path], None], tuple[str, ...]]] = {
    "an old copy": (_old, ("was already written", "the checkpoint is an old copy")),
    "another query's": (_other_query, ("the checkpoint has offsets of 'another-topic'", "belongs to another query")),
    "ahead of the log": (_ahead, ("cannot resume from the checkpoint's offset: the partition ends at",)),
    "of a later version": (_later, ("Unsupported version 9 of the checkpoint's offset",)),
    "corrupt": (_corrupt, ("The checkpoint's offset", "is not an offset of a Kafka table")),
}
