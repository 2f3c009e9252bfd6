"""A checkpoint that is not what the query left: an old copy, another query's, torn, ahead of the log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running


def scenario(asked: ScenarioConfig) -> Outcome:
    """Each of them is refused by a new driver, which writes nothing; with the right one again, it goes on."""
    outcome = Outcome()
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.rows_per_fault // 8))}  # an old copy is some batches old
    with EmbeddedKafka() as kafka:
        for i in range(asked.repeat):
            name, (spoil, words) = list(DIRT.items())[i % len(DIRT)]
            with running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
                folder, old, right = run.query.folder, asked.folder / "old", asked.folder / "right"
                run.start()
                run.send(asked.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                keep(folder, old)
                run.start()
                run.send(asked.rows_per_fault - asked.rows_per_fault // 2)
                run.wait_until_caught_up()
                run.kill()
                keep(folder, right)
                spoil(run, old)
                run.assert_start_fails(*words)
                keep(right, folder)
                outcome += run.finish(1)
                asked.log(f"{i + 1} {name}")
    return outcome


def keep(folder: Path, copy: Path) -> None:
    """A copy, in place of what is there."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)


def _old(run: PipelineRun, old: Path) -> None:
    keep(old, run.query.folder)


def _last(run: PipelineRun) -> Path:
    """The last plan; as if it were done, so that the next one begins at its end."""
    folder = run.query.folder
    last = max((folder / "planned").iterdir(), key=lambda path: int(path.name))
    (folder / "done" / last.name).touch()
    return last


def _change(run: PipelineRun, change: Callable[[str], str]) -> None:
    last = _last(run)
    last.write_text(change(last.read_text()))


def _foreign(run: PipelineRun, _: Path) -> None:
    _change(run, lambda text: text.replace(run.query.source, "another-topic"))


def _ahead(run: PipelineRun, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        for offsets in plan["end"]["offsets"].values():
            offsets.update({partition: at + 1_000_000 for partition, at in offsets.items()})
        return json.dumps(plan)

    _change(run, change)


def _later(run: PipelineRun, _: Path) -> None:
    _change(run, lambda text: text.replace('"version": 2', '"version": 9'))


def _torn(run: PipelineRun, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        plan["end"]["offsets"] = dict.fromkeys(plan["end"]["offsets"], "torn")
        return json.dumps(plan)

    _change(run, change)


# what is done to it, and what the query says then
DIRT: dict[str, tuple[Callable[[PipelineRun, Path], None], tuple[str, ...]]] = {
    "an old copy": (_old, ("was already written", "the checkpoint is an old copy")),
    "another query's": (_foreign, ("the checkpoint has offsets of 'another-topic'", "belongs to another query")),
    "ahead of the log": (_ahead, ("cannot resume from the checkpoint's offset: the partition ends at",)),
    "of a later version": (_later, ("Unsupported version 9 of the checkpoint's offset",)),
    "torn": (_torn, ("The checkpoint's offset", "is not an offset of a Kafka table")),
}
