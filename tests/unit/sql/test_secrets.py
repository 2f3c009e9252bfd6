import pytest

from kafka_sql.options.secrets import is_secret


@pytest.mark.parametrize(
    "key",
    [
        "properties.sasl.jaas.config",
        "properties.ssl.truststore.password",
        "properties.ssl.key.password",
        "properties.ssl.keystore.key",
        "properties.ssl.key.pem",
        "properties.sasl.oauthbearer.client.secret",
        "properties.sasl.oauthbearer.client.credentials.client.secret",
        "avro-confluent.basic-auth.user-info",
        "key.avro-confluent.basic-auth.user-info",
        "value.avro-confluent.bearer-auth.token",
        "avro-confluent.properties.basic.auth.user.info",
        "SOME.PASSWORD",
        "a.api_key",
    ],
)
def test_secret_keys(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "connector",
        "topic",
        "key.format",
        "key.fields",
        "properties.bootstrap.servers",
        "properties.sasl.mechanism",
        "properties.ssl.truststore.location",
        "properties.ssl.keystore.type",
        "avro-confluent.basic-auth.credentials-source",
        "properties.sasl.oauthbearer.token.endpoint.url",
        "sink.transactional-id-prefix",
    ],
)
def test_other_keys(key: str) -> None:
    assert not is_secret(key)
