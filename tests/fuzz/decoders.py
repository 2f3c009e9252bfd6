"""Mix mutated payloads with valid ones, and check that the valid ones are decoded correctly."""

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
from tests.unit.formats.columns import comparable_values

_BATCH: Final = 10_000
_SAMPLE: Final = 100  # mutants per batch


def fuzz_lenient_decoder(
    decoder: Decoder,
    valid: Sequence[bytes],
    marks: Sequence[int],
    records: int,
    seed: int,
    exact: Decoder | None = None,
) -> int:
    """Decode batches in which every second payload is mutated, ignoring errors. Return how many mutants became rows.

    Args:
        decoder: the decoder, which ignores errors.
        valid: payloads with one row each, whose first column is the mark at the same index.
        marks: the marks.
        records: number of valid records.
        seed: seed of the mutations.
        exact: a slower decoder, which must return the same for a sample of the mutants.
    """
    rng, survived = random.Random(seed), 0
    numbers = np.array(marks)
    for start in range(0, records, _BATCH):
        count = min(_BATCH, records - start)
        picks = [rng.randrange(len(valid)) for _ in range(count)]
        mutants = [mutate(rng, rng.choice(valid)) for _ in range(count)]
        payloads = [payload for pick, mutant in zip(picks, mutants, strict=True) for payload in (valid[pick], mutant)]
        decoded = decoder.decode(pa.array(payloads, pa.binary()))
        rows = np.arange(len(payloads)) if decoded.payload_indices is None else decoded.payload_indices.to_numpy()
        is_valid = _check_valid_rows(decoded.columns, rows, numbers[picks])
        survived += int((~is_valid).sum())
        if exact is not None:
            sample = pa.array(~is_valid & (rows < 2 * _SAMPLE))
            actual = [comparable_values(column.filter(sample)) for column in decoded.columns]
            expected = exact.decode(pa.array(mutants[:_SAMPLE], pa.binary()))
            assert actual == [comparable_values(column) for column in expected.columns], (seed, start)
    return survived


def _check_valid_rows(columns: Sequence[pa.Array], rows: Any, marks: Any) -> Any:
    """Check that each valid payload became one row, in order, with its mark. Return which rows they are."""
    for column in columns:
        column.validate(full=True)
        assert len(column) == len(rows)
    assert (np.diff(rows) >= 0).all()
    is_valid = rows % 2 == 0
    assert (rows[is_valid] == np.arange(0, 2 * len(marks), 2)).all()
    assert (columns[0].filter(pa.array(is_valid)).to_numpy() == marks).all()
    return is_valid


def fuzz_decoder(
    decoder: Decoder, valid: Sequence[bytes], marks: Sequence[int], records: int, seed: int, headers: int = 0
) -> tuple[int, int]:
    """Decode batches in which every second payload is mutated, reporting errors.

    Each mutant of a sample is also decoded separately. It must give the same rows, or the same error.

    Args:
        decoder: the decoder, which reports errors.
        valid: payloads with one row each, whose first column is the mark at the same index.
        marks: the marks.
        records: number of valid records.
        seed: seed of the mutations.
        headers: number of initial bytes that most mutants keep.

    Returns:
        how many mutants became rows, and how many had errors.
    """
    rng, survived, failed = random.Random(seed), 0, 0
    numbers = np.array(marks)
    for start in range(0, records, _BATCH):
        count = min(_BATCH, records - start)
        picks = [rng.randrange(len(valid)) for _ in range(count)]
        mutants = []
        for _ in range(count):
            payload, size = rng.choice(valid), headers if rng.random() < 0.95 else 0
            mutants.append(payload[:size] + mutate(rng, payload[size:]))
        payloads = [payload for pick, mutant in zip(picks, mutants, strict=True) for payload in (valid[pick], mutant)]
        errors: list[DecodeError] = []
        decoded = decoder.decode(pa.array(payloads, pa.binary()), errors)
        rows = np.arange(len(payloads)) if decoded.payload_indices is None else np.asarray(decoded.payload_indices)
        error_of = {error.row: error for error in errors}
        assert len(error_of) == len(errors)
        assert not np.isin(rows, list(error_of)).any()
        is_valid = _check_valid_rows(decoded.columns, rows, numbers[picks])
        survived += len(np.unique(rows[~is_valid]))
        failed += len(error_of)
        for k in range(1, 2 * min(count, _SAMPLE), 2):
            selected = pa.array(rows == k)
            if k in error_of:
                with pytest.raises(DecodeError) as single:
                    decoder.decode(pa.array(payloads[k : k + 1], pa.binary()))
                assert (single.value.field, single.value.reason) == (error_of[k].field, error_of[k].reason)
            else:
                expected = decoder.decode(pa.array(payloads[k : k + 1], pa.binary()))
                actual = [comparable_values(column.filter(selected)) for column in decoded.columns]
                assert actual == [comparable_values(column) for column in expected.columns], (seed, start, k)
    return survived, failed
