"""Java's login callback handlers of clouds, AWS's mechanism, and 'sasl.oauthbearer.token-provider'."""

from __future__ import annotations

import pytest

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    MissingOptionError,
    OptionError,
    UnknownOptionError,
    UnsupportedOptionError,
)
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.config.token_providers import HANDLER_KEYS, PARAMETERS, PROVIDER, describe_provider
from kafka_sql.kafka.direct.eligibility import find_read_obstacle, find_write_obstacle

LOGIN, CLIENT = HANDLER_KEYS
MSK = "software.amazon.msk.auth.iam"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SERVERS = {"bootstrap.servers": "b-1.shop.x.c2.kafka.eu-west-1.amazonaws.com:9098", "security.protocol": "SASL_SSL"}
FUNCTION = {**SERVERS, "sasl.mechanism": "OAUTHBEARER", PROVIDER: "shop.tokens:create"}


def login(config: dict[str, str]) -> dict[str, str]:
    """Return the part of a configuration that logs in."""
    return {key: value for key, value in config.items() if key.startswith(("sasl.", "enable.sasl."))}


# as in the documentation of each vendor
JAVA = {
    "AWS's mechanism": (
        {
            "sasl.mechanism": "AWS_MSK_IAM",
            "sasl.jaas.config": f"{MSK}.IAMLoginModule required;",
            CLIENT: f"{MSK}.IAMClientCallbackHandler",
        },
        "aws",
    ),
    "AWS's mechanism, relocated by Databricks": (
        {
            "sasl.mechanism": "AWS_MSK_IAM",
            "sasl.jaas.config": f"shadedmskiam.{MSK}.IAMLoginModule required;",
            CLIENT: f"shadedmskiam.{MSK}.IAMClientCallbackHandler",
        },
        "aws",
    ),
    "AWS's mechanism, by librdkafka's name": ({"sasl.mechanisms": "aws_msk_iam"}, "aws"),
    "AWS with OAUTHBEARER": (
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{OAUTH} required;",
            LOGIN: f"{MSK}.IAMOAuthBearerLoginCallbackHandler",
            CLIENT: f"{MSK}.IAMOAuthBearerLoginCallbackHandler",
        },
        "aws",
    ),
    "Google": (
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{OAUTH} required;",
            LOGIN: "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler",
        },
        "gcp",
    ),
    "Spring Cloud Azure": (
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{OAUTH} required;",
            LOGIN: "com.azure.spring.cloud.service.implementation.kafka.KafkaOAuth2AuthenticateCallbackHandler",
        },
        "azure",
    ),
    "Azure's example": (
        {
            "bootstrap.servers": "shop.servicebus.windows.net:9093",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{OAUTH} required;",
            LOGIN: "CustomAuthenticateCallbackHandler",
        },
        "azure",
    ),
}


@pytest.mark.parametrize("name", JAVA)
def test_java_handlers(name: str) -> None:
    properties, provider = JAVA[name]
    config = to_librdkafka({**SERVERS, **properties})
    mechanism = "sasl.mechanisms" if "sasl.mechanisms" in properties else "sasl.mechanism"
    assert login(config) == {mechanism: "OAUTHBEARER", PROVIDER: provider}
    assert login(resolve_config(config)) == login(config)
    assert find_read_obstacle(config) is None
    assert find_write_obstacle(config) is None


def test_options_of_aws_in_the_jaas_string(monkeypatch: pytest.MonkeyPatch) -> None:
    options = (
        'awsProfileName="shop" awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s" awsRoleExternalId="x" '
        'awsStsRegion="eu-west-3" awsRoleAccessKeyId="a" awsRoleSecretAccessKey="${env:KEY}" awsRoleSessionToken="t" '
        'awsDebugCreds="true"'
    )
    expected = {
        "sasl.mechanism": "OAUTHBEARER",
        PROVIDER: "aws",
        f"{PARAMETERS}profile": "shop",
        f"{PARAMETERS}role-arn": "arn:aws:iam::1:role/r",
        f"{PARAMETERS}role-session-name": "s",
        f"{PARAMETERS}role-external-id": "x",
        f"{PARAMETERS}sts-region": "eu-west-3",
        f"{PARAMETERS}access-key-id": "a",
        f"{PARAMETERS}secret-access-key": "${env:KEY}",
        f"{PARAMETERS}session-token": "t",
    }
    monkeypatch.setenv("KEY", "hunter2")
    jaas = f"{MSK}.IAMLoginModule required {options};"
    config = to_librdkafka({**SERVERS, "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": jaas})
    assert login(config) == expected
    assert resolve_config(config)[f"{PARAMETERS}secret-access-key"] == "hunter2"
    monkeypatch.setenv("JAAS", jaas.replace("${env:KEY}", "from JAAS"))
    reference = to_librdkafka({**SERVERS, "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": "${env:JAAS}"})
    assert login(resolve_config(reference)) == {**expected, f"{PARAMETERS}secret-access-key": "from JAAS"}


def test_the_mechanism_of_aws_in_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MECHANISM", "AWS_MSK_IAM")
    config = to_librdkafka({**SERVERS, "sasl.mechanism": "${env:MECHANISM}"})
    assert login(resolve_config(config)) == {"sasl.mechanism": "OAUTHBEARER", PROVIDER: "aws"}


def test_a_function() -> None:
    config = to_librdkafka({**FUNCTION, "sasl.oauthbearer.config": "realm=shop"})
    assert login(resolve_config(config)) == {
        "sasl.mechanism": "OAUTHBEARER",
        PROVIDER: "shop.tokens:create",
        "sasl.oauthbearer.config": "realm=shop",
    }
    assert find_read_obstacle(config) is None
    assert find_write_obstacle(config) is None
    assert describe_provider(config) == "shop.tokens:create"


def test_a_function_has_precedence_over_a_handler() -> None:
    config = to_librdkafka({**FUNCTION, LOGIN: "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"})
    assert config[PROVIDER] == "shop.tokens:create"


def test_descriptions() -> None:
    assert describe_provider(SERVERS) is None
    assert [describe_provider({PROVIDER: cloud}) for cloud in ("aws", "gcp", "azure")] == [
        "the Python package aws-msk-iam-sasl-signer-python",
        "the Python package google-auth",
        "the Python package azure-identity",
    ]


def error(properties: dict[str, str]) -> OptionError:
    with pytest.raises(OptionError) as e:
        to_librdkafka(properties)
    return e.value


@pytest.mark.parametrize("value", ["", "tokens", "tokens:", ":create", "a b:c", "os:system('x')", "./a:b", "AWS"])
def test_malformed_values(value: str) -> None:
    failure = error({**FUNCTION, PROVIDER: value})
    assert type(failure) is InvalidOptionError
    assert failure.option == f"properties.{PROVIDER}"
    assert str(failure) == (
        f"[INVALID_OPTION] Invalid value '{value}' for option 'properties.{PROVIDER}': expected a Python function, "
        "'module:function', or one of aws, gcp, azure."
    )


def test_a_reference_does_not_choose_code() -> None:
    for value in ("${env:X}", "${env:X}:create", "tokens:${file:/x:y}"):
        failure = error({**FUNCTION, PROVIDER: value})
        assert str(failure) == (
            f"[INVALID_OPTION] Option 'properties.{PROVIDER}' must be a literal value, not a reference: it names code."
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sasl.oauthbearer.token.endpoint.url", "https://login/token"),
        ("sasl.oauthbearer.method", "oidc"),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds"),
        ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
        ("sasl.oauthbearer.client.secret", "planted-4711"),
    ],
)
def test_other_sources_of_tokens(key: str, value: str) -> None:
    failure = error({**FUNCTION, key: value})
    assert type(failure) is ConflictingOptionsError
    assert f"'properties.{PROVIDER}' = 'shop.tokens:create' and 'properties." in str(failure)
    assert "planted-4711" not in str(failure)


@pytest.mark.parametrize("mechanism", [{}, {"sasl.mechanism": "PLAIN"}, {"sasl.mechanisms": "SCRAM-SHA-256"}])
def test_other_mechanisms(mechanism: dict[str, str]) -> None:
    failure = error({**SERVERS, PROVIDER: "a:b", "sasl.username": "u", "sasl.password": "p", **mechanism})
    assert str(failure) == (
        f"[CONFLICTING_OPTIONS] Option 'properties.{PROVIDER}' requires 'properties.sasl.mechanism' = 'OAUTHBEARER'."
    )


@pytest.mark.parametrize(
    ("key", "handler"),
    [(LOGIN, "CustomAuthenticateCallbackHandler"), (CLIENT, "com.acme.IAMClientCallbackHandle"), (CLIENT, "x.False")],
)
def test_other_handlers(key: str, handler: str) -> None:
    failure = error({**SERVERS, "sasl.mechanism": "OAUTHBEARER", key: handler})
    assert type(failure) is UnsupportedOptionError
    message = str(failure)
    assert message.startswith(f"[UNSUPPORTED_OPTION] Option 'properties.{key}' = '{handler}' is not supported: it is")
    assert message.endswith(
        f"set 'properties.{PROVIDER}' = 'module:function' to a Python function that returns tokens."
    )
    assert ("Did you mean 'IAMClientCallbackHandler'?" in message) is (key == CLIENT and "Handle" in handler)


def test_parameters_are_not_options() -> None:
    assert type(error({**FUNCTION, f"{PARAMETERS}role-arn": "x"})) is UnknownOptionError
    assert "Did you mean 'sasl.oauthbearer.token-provider'?" in str(error({**FUNCTION, f"{PROVIDER}s": "x"}))


def test_tokens_from_nowhere() -> None:
    failure = error({**SERVERS, "sasl.mechanism": "OAUTHBEARER"})
    assert type(failure) is MissingOptionError
    assert f"or 'properties.{PROVIDER}'" in str(failure)
