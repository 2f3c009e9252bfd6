"""Tokens of AWS, Google and Azure: how their Python packages are called, and which errors name which package.

The packages are replaced here. ``make test-clouds`` installs them, and tests them with stubs of the clouds' endpoints.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from datetime import datetime, timezone
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import AuthenticationError, KafkaSqlError, MissingOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.protocol import token_cache
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError
from kafka_sql.kafka.protocol.token_functions import call_provider
from tests.token_values import get_token

MSK = "b-1.shop.x.c2.kafka.eu-west-1.amazonaws.com:9098"
EVENT_HUBS = "shop.servicebus.windows.net:9093"
SECRET = "planted-4711"
OWN = {"key": "own", "secret": "s", "token": "t"}
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
EXTRAS = {"aws": "aws-msk-iam-sasl-signer-python", "gcp": "google-auth", "azure": "azure-identity"}


def config(cloud: str, servers: str = "h:1", jaas: str = "", **more: str) -> dict[str, str]:
    properties = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        PROVIDER: cloud,
        **({"sasl.jaas.config": jaas} if jaas else {}),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    return resolve_config(to_librdkafka(properties))


class Packages:
    """Replacements for the packages.

    Attributes:
        calls: the functions that were called, with their arguments.
        error: raised by each function.
        region: the region of AWS's configuration files.
        has_credentials: whether there are credentials of AWS.
    """

    def __init__(self) -> None:
        self.calls = list[tuple[Any, ...]]()
        self.error: Exception | None = None
        self.region: str | None = None
        self.has_credentials = True

    def record(self, *call: Any) -> None:
        self.calls.append(call)
        if self.error is not None:
            raise self.error


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Packages:
    state = Packages()
    expires_at = time.time() + 900

    def sign(region: str, provider: Any) -> tuple[str, float]:
        state.record("sign", region, vars(provider.load()))
        return "signed", expires_at * 1000

    class Provider:
        pass

    class ProfileNotFound(Exception):
        pass

    class Credentials:
        def __init__(self, key: str, secret: str, token: str) -> None:
            self.key, self.secret, self.token = key, secret, token

    class BotoSession:
        def __init__(self, *keys: str | None, profile_name: str | None) -> None:
            state.record("session", *keys, profile_name)

        def client(self, service: str, region_name: str) -> Any:
            state.record(service, region_name)

            def assume_role(**request: str) -> Any:
                state.record("assume", request)
                return {"Credentials": {"AccessKeyId": "k", "SecretAccessKey": "s", "SessionToken": "t"}}

            return SimpleNamespace(assume_role=assume_role)

    class GoogleCredentials:
        token, expiry = "ya29.x", datetime.fromtimestamp(expires_at, timezone.utc).replace(tzinfo=None)
        service_account_email = "shop@project.iam.gserviceaccount.com"

        def refresh(self, request: object) -> None:
            state.record("refresh", request)

    class AzureCredential:
        def __init__(self, **identities: str) -> None:
            state.record("azure", identities)

        def __enter__(self) -> AzureCredential:
            return self

        def __exit__(self, *_: object) -> None:
            state.calls.append(("closed",))

        def get_token(self, scope: str) -> Any:
            state.record("get_token", scope)
            return SimpleNamespace(token="eyJ.a.b", expires_on=int(expires_at))

    def default(scopes: list[str]) -> tuple[GoogleCredentials, str]:
        state.record("default", *scopes)
        return GoogleCredentials(), "project"

    class BotocoreSession:
        def __init__(self, profile: str | None) -> None:
            self.profile = profile

        def get_config_variable(self, name: str) -> str | None:
            return {"region": state.region}[name]

        def get_credentials(self) -> Credentials | None:
            state.record("session", self.profile)
            return Credentials("own", "s", "t") if state.has_credentials else None

    signer = SimpleNamespace(generate_auth_token_from_credentials_provider=sign)
    modules: dict[str, dict[str, Any]] = {
        "aws_msk_iam_sasl_signer": {"MSKAuthTokenProvider": signer},
        "boto3": {"Session": BotoSession},
        "botocore": {},
        "botocore.session": {"Session": BotocoreSession},
        "botocore.exceptions": {"ProfileNotFound": ProfileNotFound},
        "botocore.credentials": {"CredentialProvider": Provider, "Credentials": Credentials},
        "google.auth": {"default": default},
        "google.auth.transport": {},
        "google.auth.transport.requests": {"Request": lambda: "request"},
        "azure": {},
        "azure.identity": {"DefaultAzureCredential": AzureCredential},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    import google  # of protobuf; a package without a file

    monkeypatch.setattr(google, "auth", sys.modules["google.auth"], raising=False)
    sys.modules["botocore"].session = sys.modules["botocore.session"]  # type: ignore[attr-defined]
    for variable in ("AWS_REGION", *(f"KAFKA_SQL_ALLOWED_{name}" for name in ("PATHS", "MODULES", "URLS"))):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(token_cache, "_tokens", {})
    return state


def test_aws(packages: Packages) -> None:
    token = call_provider(config("aws", MSK))
    assert token.value == "signed"
    assert 890 < token.expires_at - time.time() <= 900
    assert packages.calls == [("session", None), ("sign", "eu-west-1", OWN)]


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        (MSK, "eu-west-1"),
        ("boot-x.c1.kafka-serverless.us-east-2.amazonaws.com:9098", "us-east-2"),
        ("b-1.a.kafka.cn-north-1.amazonaws.com.cn:9098,b-2.a.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        ("b-1-public.shop.x.c2.kafka.eu-west-1.amazonaws.com:9198", "eu-west-1"),
        ("kafka.shop.example:9098", "from variable"),
    ],
)
def test_the_region_of_aws(packages: Packages, monkeypatch: pytest.MonkeyPatch, servers: str, region: str) -> None:
    monkeypatch.setenv("AWS_REGION", "from variable")
    call_provider(config("aws", servers))
    assert packages.calls[-1] == ("sign", region, OWN)


def test_no_region_of_aws(packages: Packages) -> None:
    with pytest.raises(
        MissingOptionError, match=r"do not contain the region\. Set the variable AWS_REGION on the driver"
    ):
        call_provider(config("aws", "h:1"))
    packages.region = "from profile"
    call_provider(config("aws", "h:1"))
    assert packages.calls[-1] == ("sign", "from profile", OWN)


def test_a_profile_of_aws(packages: Packages) -> None:
    call_provider(config("aws", MSK, f'{IAM} required awsProfileName="shop";'))
    assert packages.calls == [("session", "shop"), ("sign", "eu-west-1", OWN)]
    packages.error = sys.modules["botocore.exceptions"].ProfileNotFound(SECRET)
    with pytest.raises(AuthenticationError, match=r"'properties.sasl.jaas.config': this machine has no AWS profile"):
        call_provider(config("aws", MSK, f'{IAM} required awsProfileName="shop";'))


def test_no_credentials_of_aws(packages: Packages) -> None:
    packages.has_credentials = False
    with pytest.raises(AuthenticationError, match=r"'aws': no credentials were found\. Check the credentials of this"):
        call_provider(config("aws", MSK))


def test_a_role_of_aws(packages: Packages) -> None:
    call_provider(config("aws", MSK, f'{IAM} required awsRoleArn="arn:r";'))
    signed = ("sign", "eu-west-1", {"key": "k", "secret": "s", "token": "t"})
    request = {"RoleArn": "arn:r", "RoleSessionName": "kafka_sql"}
    assert packages.calls == [("session", None, None, None, None), ("sts", "eu-west-1"), ("assume", request), signed]
    packages.calls.clear()
    options = (
        'awsRoleArn="arn:r" awsRoleSessionName="me" awsRoleExternalId="x" awsStsRegion="eu-west-3" '
        'awsRoleAccessKeyId="a" awsRoleSecretAccessKey="b" awsRoleSessionToken="c" awsProfileName="p"'
    )
    call_provider(config("aws", MSK, f"{IAM} required {options};"))
    request = {"RoleArn": "arn:r", "RoleSessionName": "me", "ExternalId": "x"}
    assert packages.calls == [("session", "a", "b", "c", "p"), ("sts", "eu-west-3"), ("assume", request), signed]


def test_google(packages: Packages) -> None:
    token = call_provider(config("gcp"))
    assert packages.calls == [("default", "https://www.googleapis.com/auth/cloud-platform"), ("refresh", "request")]
    header, claims, access_token = (base64.urlsafe_b64decode(f"{part}===") for part in token.value.split("."))
    assert json.loads(header) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    assert access_token == b"ya29.x"
    content = json.loads(claims)
    assert content["exp"] == pytest.approx(time.time() + 900, abs=5)
    assert content["iat"] == pytest.approx(time.time(), abs=5)
    assert {key: content[key] for key in ("iss", "scope", "sub")} == {
        "iss": "Google",
        "scope": "kafka",
        "sub": "shop@project.iam.gserviceaccount.com",
    }
    assert 890 < token.expires_at - time.time() <= 900


@pytest.mark.parametrize(
    ("jaas", "scope", "identities"),
    [
        ("", "https://shop.servicebus.windows.net/.default", {}),
        (f'{OAUTH} required scope="https://kafka.example/.default";', "https://kafka.example/.default", {}),
        (
            f'{OAUTH} required clientId="id";',
            "https://shop.servicebus.windows.net/.default",
            {"managed_identity_client_id": "id", "workload_identity_client_id": "id"},
        ),
    ],
)
def test_azure(packages: Packages, jaas: str, scope: str, identities: dict[str, str]) -> None:
    token = call_provider(config("azure", f"SASL_SSL://{EVENT_HUBS},other:1", jaas))
    assert token.value == "eyJ.a.b"
    assert 890 < token.expires_at - time.time() <= 900
    assert packages.calls == [("azure", identities), ("get_token", scope), ("closed",)]


def test_a_token_is_for_one_cluster(packages: Packages) -> None:
    for servers in (EVENT_HUBS, EVENT_HUBS, "other.servicebus.windows.net:9093"):
        get_token(config("azure", servers), 10)
    assert [call[1] for call in packages.calls if call[0] == "get_token"] == [
        "https://shop.servicebus.windows.net/.default",
        "https://other.servicebus.windows.net/.default",
    ]


@pytest.mark.parametrize("cloud", EXTRAS)
def test_a_package_that_is_not_installed(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aws_msk_iam_sasl_signer", "google.auth", "azure.identity"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnsupportedOptionError) as e:
        call_provider(config(cloud, MSK))
    assert str(e.value) == (
        f"[UNSUPPORTED_OPTION] Option 'properties.{PROVIDER}' = '{cloud}' needs the Python package {EXTRAS[cloud]} on "
        f"the driver and on all executors: pip install 'kafka-sql[{cloud}]'."
    )


class HTTPClientError(Exception):
    """Like botocore's."""


class EndpointConnectionError(HTTPClientError):
    pass


class TransportError(Exception):
    """Like google-auth's."""


class ServiceRequestError(Exception):
    """Like azure-core's."""


@pytest.mark.parametrize("cloud", EXTRAS)
@pytest.mark.parametrize(
    ("failure", "is_transient"),
    [
        (ValueError(SECRET), False),
        (EndpointConnectionError(SECRET), True),
        (TransportError(SECRET), True),
        (ServiceRequestError(SECRET), True),
    ],
)
def test_exceptions_of_packages(packages: Packages, cloud: str, failure: Exception, is_transient: bool) -> None:
    packages.error = failure
    with pytest.raises((KafkaSqlError, OSError)) as e:
        call_provider(config(cloud, MSK))
    assert type(e.value) is (TokenEndpointUnavailableError if is_transient else AuthenticationError)
    message = str(e.value)
    start = f"Option 'properties.{PROVIDER}' = '{cloud}': {EXTRAS[cloud]} raised {type(failure).__name__}. Check the "
    assert start in message
    assert SECRET not in message
    assert e.value.__suppress_context__
