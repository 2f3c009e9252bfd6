"""Decoders of JSON that take the exact way for all payloads, or that count which do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_sql.formats.json.decoder import JsonDecoder


class ExactDecoder(JsonDecoder):
    """Takes the exact way for all payloads."""

    def _fast(self, data: Any, offsets: Any, kept: Any) -> Any:
        return kept[:0], [pa.array([], field.type) for field in self._schema]


class CountingDecoder(JsonDecoder):
    """Counts the payloads that go the exact way."""

    exact = 0

    def _exact(self, data: Any, offsets: Any, odd: Any, bad: Any) -> Any:
        self.exact += len(odd)
        return super()._exact(data, offsets, odd, bad)
