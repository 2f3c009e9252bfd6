"""A decoder that takes the exact way for all payloads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_sql.formats.csv.decoder import CsvDecoder


class ExactDecoder(CsvDecoder):
    """Takes the exact way for all payloads."""

    def _fast(self, payloads: Any, data: Any, offsets: Any, kept: Any) -> Any:
        return kept[:0], [pa.array([], field.type) for field in self._schema]


class CountingDecoder(CsvDecoder):
    """Counts the payloads that go the exact way."""

    exact = 0

    def _exact(self, data: Any, offsets: Any, odd: Any, bad: Any) -> Any:
        self.exact += len(odd)
        return super()._exact(data, offsets, odd, bad)
