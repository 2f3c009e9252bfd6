"""Infer the type of a raw column from payloads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.formats.format import ColumnTypes, ErrorSink
from kafka_sql.formats.raw.options import CHARSET
from kafka_sql.options import Options

_CONTROL: Final = re.compile(r"[^\t\n\r\x20-\U0010ffff]")


def infer_from_payloads(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    """Return the type of the only column, without a name: STRING if all payloads are text, otherwise BYTES.

    Text has no control characters except tabs and line ends: a binary number may be valid UTF-8, too.
    """
    del errors  # any payload is of the raw format
    charset = options[CHARSET]
    texts = [charset.decode(payload) for payload in payloads]
    is_text = all(
        charset.encode(text) == payload and not _CONTROL.search(text)
        for text, payload in zip(texts, payloads, strict=True)
    )
    return (("", "STRING" if is_text else "BYTES"),) if payloads else ()
