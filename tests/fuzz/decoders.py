"""Mutated payloads among good ones: whatever they hold, the good ones keep their places and their values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder
from tests.fuzz.mutation import mutate
from tests.unit.formats.columns import held

_BATCH: Final = 10_000
_SAMPLE: Final = 100  # mutants of a batch


def fuzz_lenient_decoder(
    decoder: Decoder, good: Sequence[bytes], marks: Sequence[int], records: int, seed: int, exact: Decoder | None = None
) -> int:
    """Decode batches of payloads, every second one mutated, with errors ignored; how many mutants became rows.

    Args:
        good: payloads that are one row each, whose first column is the mark at the same index.
        exact: a slower decoder, which must find the same in a sample of the mutants.
    """
    rng, survived = random.Random(seed), 0
    numbers = np.array(marks)
    for start in range(0, records, _BATCH):
        count = min(_BATCH, records - start)
        picks = [rng.randrange(len(good)) for _ in range(count)]
        mutants = [mutate(rng, rng.choice(good)) for _ in range(count)]
        payloads = [payload for pick, mutant in zip(picks, mutants, strict=True) for payload in (good[pick], mutant)]
        decoded = decoder.decode(pa.array(payloads, pa.binary()))
        rows = np.arange(len(payloads)) if decoded.payload_indices is None else decoded.payload_indices.to_numpy()
        of_good = _check_valid_rows(decoded.columns, rows, numbers[picks])
        survived += int((~of_good).sum())
        if exact is not None:
            sample = pa.array(~of_good & (rows < 2 * _SAMPLE))
            found = [held(column.filter(sample)) for column in decoded.columns]
            expected = exact.decode(pa.array(mutants[:_SAMPLE], pa.binary()))
            assert found == [held(column) for column in expected.columns], (seed, start)
    return survived


def _check_valid_rows(columns: Sequence[pa.Array], rows: Any, marks: Any) -> Any:
    """Which rows are of the good payloads, every other one: each is there once, in its order, with its mark."""
    for column in columns:
        column.validate(full=True)
        assert len(column) == len(rows)
    assert (np.diff(rows) >= 0).all()
    of_good = rows % 2 == 0
    assert (rows[of_good] == np.arange(0, 2 * len(marks), 2)).all()
    assert (columns[0].filter(pa.array(of_good)).to_numpy() == marks).all()
    return of_good


def fuzz_decoder(
    decoder: Decoder, good: Sequence[bytes], marks: Sequence[int], records: int, seed: int, headers: int = 0
) -> tuple[int, int]:
    """The same with errors told of; how many mutants became rows, and of how many an error was told.

    Of a sample each mutant is decoded by itself, too, and must be the same rows, or be in error for the same reason.

    Args:
        headers: how many bytes at the beginning most mutants keep.
    """
    rng, survived, failed = random.Random(seed), 0, 0
    numbers = np.array(marks)
    for start in range(0, records, _BATCH):
        count = min(_BATCH, records - start)
        picks = [rng.randrange(len(good)) for _ in range(count)]
        mutants = []
        for _ in range(count):
            one, kept = rng.choice(good), headers if rng.random() < 0.95 else 0
            mutants.append(one[:kept] + mutate(rng, one[kept:]))
        payloads = [payload for pick, mutant in zip(picks, mutants, strict=True) for payload in (good[pick], mutant)]
        bad: list[DecodeError] = []
        decoded = decoder.decode(pa.array(payloads, pa.binary()), bad)
        rows = np.arange(len(payloads)) if decoded.payload_indices is None else np.asarray(decoded.payload_indices)
        told = {error.row: error for error in bad}
        assert len(told) == len(bad)
        assert not np.isin(rows, list(told)).any()
        of_good = _check_valid_rows(decoded.columns, rows, numbers[picks])
        survived += len(np.unique(rows[~of_good]))
        failed += len(told)
        for k in range(1, 2 * min(count, _SAMPLE), 2):
            mine = pa.array(rows == k)
            if k in told:
                with pytest.raises(DecodeError) as alone:
                    decoder.decode(pa.array(payloads[k : k + 1], pa.binary()))
                assert (alone.value.field, alone.value.reason) == (told[k].field, told[k].reason)
            else:
                expected = decoder.decode(pa.array(payloads[k : k + 1], pa.binary()))
                found = [held(column.filter(mine)) for column in decoded.columns]
                assert found == [held(column) for column in expected.columns], (seed, start, k)
    return survived, failed
