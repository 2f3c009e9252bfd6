"""Every format by its identifier."""

from __future__ import annotations

from typing import Final

from kafka_sql.errors import InvalidOptionError, did_you_mean
from kafka_sql.formats.avro import AVRO
from kafka_sql.formats.avro_confluent import AVRO_CONFLUENT
from kafka_sql.formats.cdc import CANAL_JSON, DEBEZIUM_AVRO_CONFLUENT, DEBEZIUM_JSON, MAXWELL_JSON, OGG_JSON
from kafka_sql.formats.csv import CSV
from kafka_sql.formats.format import Format
from kafka_sql.formats.json import JSON
from kafka_sql.formats.raw import RAW

FORMATS: Final[dict[str, Format]] = {
    f.identifier: f
    for f in (
        AVRO,
        AVRO_CONFLUENT,
        CSV,
        JSON,
        RAW,
        DEBEZIUM_JSON,
        DEBEZIUM_AVRO_CONFLUENT,
        CANAL_JSON,
        MAXWELL_JSON,
        OGG_JSON,
    )
}


def find(identifier: str, option: str) -> Format:
    """The format of an identifier, which was given as ``option``.

    Raises:
        InvalidOptionError: names the formats that there are, and the nearest.
    """
    if identifier not in FORMATS:
        available = ", ".join(f"'{name}'" for name in sorted(FORMATS))
        raise InvalidOptionError(
            f"Could not find any format for identifier '{identifier}' (option '{option}'). "
            f"Available format identifiers are: {available}." + did_you_mean(identifier, FORMATS)
        )
    return FORMATS[identifier]
