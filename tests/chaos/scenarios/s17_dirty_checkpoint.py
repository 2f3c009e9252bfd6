"""A checkpoint that is not what the query left: an old copy, another query's, torn, ahead of the log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Asked, Outcome
from tests.chaos.run import Run, running


def scenario(asked: Asked) -> Outcome:
    """Each of them is refused by a new driver, which writes nothing; with the right one again, it goes on."""
    outcome = Outcome()
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.portion // 8))}  # an old copy is some batches old
    with EmbeddedKafka() as kafka:
        for i in range(asked.repeat):
            name, (spoil, words) = list(DIRT.items())[i % len(DIRT)]
            with running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
                folder, old, right = run.query.folder, asked.folder / "old", asked.folder / "right"
                run.start()
                run.send(asked.portion // 2)
                run.caught_up()
                run.kill()
                keep(folder, old)
                run.start()
                run.send(asked.portion - asked.portion // 2)
                run.caught_up()
                run.kill()
                keep(folder, right)
                spoil(run, old)
                run.refused(*words)
                keep(right, folder)
                outcome += run.finish(1)
                asked.log(f"{i + 1} {name}")
    return outcome


def keep(folder: Path, copy: Path) -> None:
    """A copy, in place of what is there."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)


def _old(run: Run, old: Path) -> None:
    keep(old, run.query.folder)


def _last(run: Run) -> Path:
    """The last plan; as if it were done, so that the next one begins at its end."""
    folder = run.query.folder
    last = max((folder / "planned").iterdir(), key=lambda path: int(path.name))
    (folder / "done" / last.name).touch()
    return last


def _change(run: Run, change: Callable[[str], str]) -> None:
    last = _last(run)
    last.write_text(change(last.read_text()))


def _foreign(run: Run, _: Path) -> None:
    _change(run, lambda text: text.replace(run.query.source, "another-topic"))


def _ahead(run: Run, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        for offsets in plan["end"]["offsets"].values():
            offsets.update({partition: at + 1_000_000 for partition, at in offsets.items()})
        return json.dumps(plan)

    _change(run, change)


def _later(run: Run, _: Path) -> None:
    _change(run, lambda text: text.replace('"version": 2', '"version": 9'))


def _torn(run: Run, _: Path) -> None:
    def change(text: str) -> str:
        plan = json.loads(text)
        plan["end"]["offsets"] = dict.fromkeys(plan["end"]["offsets"], "torn")
        return json.dumps(plan)

    _change(run, change)


# what is done to it, and what the query says then
DIRT: dict[str, tuple[Callable[[Run, Path], None], tuple[str, ...]]] = {
    "an old copy": (_old, ("was already written", "the checkpoint is an old copy")),
    "another query's": (_foreign, ("the checkpoint holds offsets of 'another-topic'", "belongs to another query")),
    "ahead of the log": (_ahead, ("the checkpoint goes on from here, but it ends at",)),
    "of a later version": (_later, ("The checkpoint's offset has version 9",)),
    "torn": (_torn, ("The checkpoint's offset", "is none of a Kafka table")),
}
