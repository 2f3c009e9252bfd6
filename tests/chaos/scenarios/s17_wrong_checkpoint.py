"""Start from a wrong checkpoint: an old copy, another query's, of a later version, corrupt, or ahead of the topic."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running


def scenario(config: ScenarioConfig) -> Outcome:
    """Check that a new driver rejects each of them and writes nothing, and continues with the right checkpoint."""
    outcome = Outcome()
    # small batches: an old copy of the checkpoint is several batches behind
    source_options = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 8))}
    with EmbeddedKafka() as kafka:
        for i in range(config.repeat):
            name, (damage, expected) = list(CASES.items())[i % len(CASES)]
            with running(kafka.bootstrap_servers, config, source_options=source_options) as run:
                checkpoint, old_copy, valid_copy = run.query.folder, config.folder / "old", config.folder / "valid"
                run.start()
                run.send(config.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                copy_checkpoint(checkpoint, old_copy)
                run.start()
                run.send(config.rows_per_fault - config.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                copy_checkpoint(checkpoint, valid_copy)
                damage(run, old_copy)
                run.assert_start_fails(*expected)
                copy_checkpoint(valid_copy, checkpoint)
                outcome += run.finish(1)
                config.log(f"{i + 1} {name}")
    return outcome


def copy_checkpoint(source: Path, target: Path) -> None:
    """Replace ``target`` with a copy of the checkpoint ``source``."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _restore_old_copy(run: PipelineRun, old_copy: Path) -> None:
    copy_checkpoint(old_copy, run.query.folder)


def _edit_last_plan(run: PipelineRun, edit: Callable[[str], str]) -> None:
    """Edit the plan of the last batch, and mark the batch as done, so that the next one starts at its end."""
    checkpoint = run.query.folder
    plan = max((checkpoint / "planned").iterdir(), key=lambda path: int(path.name))
    (checkpoint / "done" / plan.name).touch()
    plan.write_text(edit(plan.read_text()))


def _replace_topic(run: PipelineRun, _: Path) -> None:
    _edit_last_plan(run, lambda text: text.replace(run.query.source, "another-topic"))


def _move_offsets_ahead(run: PipelineRun, _: Path) -> None:
    def edit(text: str) -> str:
        plan = json.loads(text)
        for offsets in plan["end"]["offsets"].values():
            offsets.update({partition: offset + 1_000_000 for partition, offset in offsets.items()})
        return json.dumps(plan)

    _edit_last_plan(run, edit)


def _raise_version(run: PipelineRun, _: Path) -> None:
    _edit_last_plan(run, lambda text: text.replace('"version": 1', '"version": 9'))


def _corrupt_offsets(run: PipelineRun, _: Path) -> None:
    def edit(text: str) -> str:
        plan = json.loads(text)
        plan["end"]["offsets"] = dict.fromkeys(plan["end"]["offsets"], "corrupt")
        return json.dumps(plan)

    _edit_last_plan(run, edit)


# name -> how the checkpoint is damaged, and expected parts of the error
CASES: dict[str, tuple[Callable[[PipelineRun, Path], None], tuple[str, ...]]] = {
    "an old copy": (_restore_old_copy, ("was already written", "the checkpoint is an old copy")),
    "another query's": (_replace_topic, ("the checkpoint has offsets of 'another-topic'", "belongs to another query")),
    "ahead of the log": (_move_offsets_ahead, ("cannot resume from the checkpoint's offset: the partition ends at",)),
    "of a later version": (_raise_version, ("Unsupported version 9 of the checkpoint's offset",)),
    "corrupt": (_corrupt_offsets, ("The checkpoint's offset", "is not an offset of a Kafka table")),
}
