"""Set the quotas of a client id, with AlterClientQuotas: librdkafka has no such request."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final, cast

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.loopback import HOST
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.messages import Request

_ALTER_CLIENT_QUOTAS: Final = cast(ApiKey, 49)


def set_quotas(kafka: EmbeddedKafka, client_id: str, quotas: Mapping[str, float | None]) -> None:
    """Set quotas, or remove those that are None.

    Args:
        quotas: such as ``producer_byte_rate``: https://kafka.apache.org/documentation/#design_quotas.
    """
    entity = codec.array([codec.string("client-id") + codec.string(client_id)])
    operations = [codec.string(name) + codec.pack("d?", limit or 0.0, limit is None) for name, limit in quotas.items()]
    body = codec.array([entity + codec.array(operations)]) + codec.pack("?", False)
    config = to_librdkafka({"bootstrap.servers": kafka.bootstrap_servers})
    with closing(Connection((HOST, kafka.nodes[0].port), config)) as connection:
        response = connection.ask(Request(_ALTER_CLIENT_QUOTAS, 0, 0, lambda *_: body))
    response.throttle_time()
    errors = response.array(lambda: (response.number("h"), response.string(), response.array(response.string)))
    assert [code for code, *_ in errors] == [0], errors
