"""JSON decoders that use the fallback for all payloads, or count the payloads that need it."""

from __future__ import annotations

from typing import Any

from kafka_sql.formats.json.decoder import JsonDecoder


class FallbackDecoder(JsonDecoder):
    """Decodes all payloads with the fallback."""

    def _select_supported(self, payloads: Any, indices: Any) -> Any:
        return indices[:0]


class CountingDecoder(JsonDecoder):
    """Counts the payloads that need the fallback."""

    fallback_count = 0

    def _decode_with_fallback(self, data: Any, offsets: Any, indices: Any, errors: Any) -> Any:
        self.fallback_count += len(indices)
        return super()._decode_with_fallback(data, offsets, indices, errors)
