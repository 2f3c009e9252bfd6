"""Run the histories of some seeds in a worker process."""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.model import history, transactions

MODELS: Final = {"idempotent": history.find_violation, "transactional": transactions.find_violation}


class Chunk(NamedTuple):
    """Some seeds of one model."""

    model: str
    seeds: range


def run_chunk(chunk: Chunk) -> str | None:
    """Return the first violation, with its shortest history; None if there is none."""
    found = MODELS[chunk.model](chunk.seeds)
    return None if found is None else f"{chunk.model}: {found[0]}\n=> {found[1]}"
