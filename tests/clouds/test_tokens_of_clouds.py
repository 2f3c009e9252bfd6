"""Tokens of the Python packages of AWS, Google and Azure, from stubs of the clouds' endpoints: ``make test-clouds``.

These packages are optional, and large: the other tests run without them.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.protocol import token_cache
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError
from kafka_sql.kafka.protocol.token_functions import call_provider
from tests.http_server import serve
from tests.token_values import get_token

SECRET = "planted-4711"
MSK = "b-1.shop.x.c2.kafka.eu-west-1.amazonaws.com:9098"
MSK_CLASSES = "software.amazon.msk.auth.iam"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
AWS = {
    "bootstrap.servers": MSK,
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": f"{MSK_CLASSES}.IAMLoginModule required;",
    "sasl.client.callback.handler.class": f"{MSK_CLASSES}.IAMClientCallbackHandler",
}
GOOGLE = {
    "bootstrap.servers": "bootstrap.shop.us-central1.managedkafka.project.cloud.goog:9092",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f"{OAUTH} required;",
    "sasl.login.callback.handler.class": "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler",
}
AZURE = {
    "bootstrap.servers": "shop.servicebus.windows.net:9093",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f"{OAUTH} required;",
    "sasl.login.callback.handler.class": (
        "com.azure.spring.cloud.service.implementation.kafka.KafkaOAuth2AuthenticateCallbackHandler"
    ),
}
Response = tuple[int, str, dict[str, str]]


class Stub:
    """An HTTP server in place of a cloud's.

    Attributes:
        url: its address.
        requests: method, path with query, headers and body of all requests so far.
        respond: returns status, body and headers for a method and a path.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests = list[tuple[str, str, dict[str, str], str]]()
        self.respond: Callable[[str, str], Response] = lambda method, path: (404, "", {})


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stub]:
    state = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.requests.append((self.command, self.path, headers, body))
            status, text, more = state.respond(self.command, self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    for name in tuple(os.environ):  # credentials of the machine
        if name.startswith(
            ("AWS_", "AZURE_", "GOOGLE_", "GCE_", "IDENTITY_", "MSI_", "CLOUDSDK_", "KAFKA_SQL_ALLOWED_")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(token_cache, "_tokens", {})
    with serve(Handler) as state.url:
        yield state


def config(properties: dict[str, str], jaas: str = "") -> dict[str, str]:
    changed = {"sasl.jaas.config": jaas} if jaas else {}
    return resolve_config(to_librdkafka({**properties, "security.protocol": "SASL_SSL", **changed}))


def signed_request(token: str) -> dict[str, str]:
    """Return host and parameters of the request that a token of MSK consists of."""
    url = urlsplit(base64.urlsafe_b64decode(f"{token}===").decode())
    return {"host": str(url.hostname), **{key: values[0] for key, values in parse_qs(url.query).items()}}


def in_an_hour() -> str:
    return (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_aws_with_credentials_of_a_container(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{stub.url}/credentials")
    credentials = {"AccessKeyId": "AKID", "SecretAccessKey": SECRET, "Token": "session", "Expiration": in_an_hour()}
    stub.respond = lambda method, path: (200, json.dumps(credentials), {})
    token = call_provider(config(AWS))
    request = signed_request(token.value)
    assert request["host"] == "kafka.eu-west-1.amazonaws.com"
    assert request["Action"] == "kafka-cluster:Connect"
    assert request["X-Amz-Credential"].startswith("AKID/")
    assert request["X-Amz-Credential"].endswith("/eu-west-1/kafka-cluster/aws4_request")
    assert request["X-Amz-Security-Token"] == "session"
    assert 800 < token.expires_at - time.time() <= 900
    assert [path for _, path, _, _ in stub.requests] == ["/credentials"]


def test_aws_with_the_metadata_service_of_a_virtual_machine(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url)
    credentials = {
        "Code": "Success",
        "AccessKeyId": "AKID",
        "SecretAccessKey": SECRET,
        "Token": "session",
        "Expiration": in_an_hour(),
    }

    def respond(method: str, path: str) -> Response:
        if method == "PUT":
            return 200, "metadata-token", {}
        return 200, "role" if path.endswith("security-credentials/") else json.dumps(credentials), {}

    stub.respond = respond
    assert signed_request(call_provider(config(AWS)).value)["X-Amz-Credential"].startswith("AKID/")
    assert stub.requests[-1][1] == "/latest/meta-data/iam/security-credentials/role"


def test_aws_with_a_role(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    assumed = (
        f"<AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>"
        f"<SessionToken>role-session</SessionToken><Expiration>{in_an_hour()}</Expiration>"
    )
    stub.respond = lambda method, path: (
        200,
        f'<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>{assumed}'
        "</Credentials></AssumeRoleResult></AssumeRoleResponse>",
        {"Content-Type": "text/xml"},
    )
    options = (
        'awsRoleArn="arn:aws:iam::123456789012:role/shop" awsRoleSessionName="orders" awsRoleExternalId="outside" '
        f'awsStsRegion="eu-west-3" awsRoleAccessKeyId="OWN" awsRoleSecretAccessKey="{SECRET}"'
    )
    request = signed_request(call_provider(config(AWS, f"{MSK_CLASSES}.IAMLoginModule required {options};")).value)
    assert request["X-Amz-Credential"].startswith("ASSUMED/")
    assert request["X-Amz-Security-Token"] == "role-session"
    (_, _, headers, body) = stub.requests[0]
    assert {key: values[0] for key, values in parse_qs(body).items()} == {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        "RoleArn": "arn:aws:iam::123456789012:role/shop",
        "RoleSessionName": "orders",
        "ExternalId": "outside",
    }
    assert "Credential=OWN/" in headers["authorization"]
    assert "/eu-west-3/sts/" in headers["authorization"]


def test_aws_with_a_profile(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "aws").write_text("[profile shop]\nregion = eu-central-1\n")
    (tmp_path / "aws-credentials").write_text(
        f"[shop]\naws_access_key_id = PROFILE\naws_secret_access_key = {SECRET}\n"
    )
    jaas = f'{MSK_CLASSES}.IAMLoginModule required awsProfileName="shop";'
    request = signed_request(call_provider(config({**AWS, "bootstrap.servers": "kafka.example:9098"}, jaas)).value)
    assert request["host"] == "kafka.eu-central-1.amazonaws.com"
    assert request["X-Amz-Credential"].startswith("PROFILE/")
    with pytest.raises(AuthenticationError, match="this machine has no AWS profile with the name of awsProfileName"):
        call_provider(config(AWS, jaas.replace("shop", "other")))


def test_aws_without_credentials(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(AuthenticationError, match=r"'aws': no credentials were found\. Check the credentials"):
        call_provider(config(AWS))


def test_aws_rejects_the_role(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    error = f"<ErrorResponse><Error><Code>AccessDenied</Code><Message>{SECRET}</Message></Error></ErrorResponse>"
    stub.respond = lambda method, path: (403, error, {"Content-Type": "text/xml"})
    options = 'awsRoleArn="arn:aws:iam::1:role/x" awsRoleAccessKeyId="OWN" awsRoleSecretAccessKey="s"'
    with pytest.raises(AuthenticationError, match="raised ClientError") as e:
        call_provider(config(AWS, f"{MSK_CLASSES}.IAMLoginModule required {options};"))
    assert SECRET not in str(e.value)


def service_account(stub: Stub, folder: Path) -> str:
    """Write the key file of a service account whose token endpoint is the stub, and return its name."""
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    file = folder / "account.json"
    content = {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": "shop@project.iam.gserviceaccount.com",
        "token_uri": f"{stub.url}/token",
    }
    file.write_text(json.dumps(content))
    return str(file)


def google_parts(token: str) -> tuple[dict[str, object], str]:
    """Return the claims and the access token of a token for Google's brokers."""
    header, claims, access_token = (base64.urlsafe_b64decode(f"{part}===").decode() for part in token.split("."))
    assert json.loads(header) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    return json.loads(claims), access_token


def test_google_with_a_service_account(stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", service_account(stub, tmp_path))
    response = json.dumps({"access_token": "ya29.account", "expires_in": 3600, "token_type": "Bearer"})
    stub.respond = lambda method, path: (200, response, {"Content-Type": "application/json"})
    token = call_provider(config(GOOGLE))
    claims, access_token = google_parts(token.value)
    assert access_token == "ya29.account"
    assert claims["sub"] == "shop@project.iam.gserviceaccount.com"
    assert (claims["iss"], claims["scope"]) == ("Google", "kafka")
    assert claims["exp"] == pytest.approx(time.time() + 3600, abs=30)
    assert token.expires_at - time.time() == pytest.approx(3600, abs=30)
    (_, path, _, body) = stub.requests[0]
    assertion = parse_qs(body)["assertion"][0].split(".")[1]
    assert path == "/token"
    scope = json.loads(base64.urlsafe_b64decode(f"{assertion}==="))["scope"]
    assert scope == "https://www.googleapis.com/auth/cloud-platform"


def test_google_with_the_metadata_service(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    host = stub.url.removeprefix("http://")
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"):
        monkeypatch.setenv(name, host)
    account = {"email": "vm@project.iam.gserviceaccount.com", "scopes": [], "aliases": []}

    def respond(method: str, path: str) -> Response:
        headers = {"Metadata-Flavor": "Google", "Content-Type": "application/json"}
        if "/token" in path:
            return 200, json.dumps({"access_token": "ya29.vm", "expires_in": 1800, "token_type": "Bearer"}), headers
        return 200, json.dumps(account) if "service-accounts" in path else "project", headers

    stub.respond = respond
    token = call_provider(config(GOOGLE))
    claims, access_token = google_parts(token.value)
    assert (access_token, claims["sub"]) == ("ya29.vm", "vm@project.iam.gserviceaccount.com")
    assert token.expires_at - time.time() == pytest.approx(1800, abs=30)
    assert all(headers.get("metadata-flavor") == "Google" for _, _, headers, _ in stub.requests)


def test_google_rejects_the_account(stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", service_account(stub, tmp_path))
    stub.respond = lambda method, path: (400, json.dumps({"error": "invalid_grant", "error_description": SECRET}), {})
    with pytest.raises(
        AuthenticationError, match=r"google-auth raised RefreshError\. Check the application default"
    ) as e:
        call_provider(config(GOOGLE))
    assert SECRET not in str(e.value)


def test_google_is_not_reachable(stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.url = "http://127.0.0.1:1"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", service_account(stub, tmp_path))
    with pytest.raises(TokenEndpointUnavailableError, match="google-auth raised TransportError"):
        call_provider(config(GOOGLE))


def test_azure_with_a_managed_identity(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{stub.url}/identity")
    monkeypatch.setenv("IDENTITY_HEADER", SECRET)
    expires_on = int(time.time()) + 3600
    content = {
        "access_token": "eyJ.azure",
        "expires_on": str(expires_on),
        "resource": "https://shop.servicebus.windows.net",
        "token_type": "Bearer",
    }
    stub.respond = lambda method, path: (200, json.dumps(content), {"Content-Type": "application/json"})
    token = call_provider(config(AZURE, f'{OAUTH} required clientId="id-of-identity";'))
    assert token.value == "eyJ.azure"
    assert token.expires_at - time.time() == pytest.approx(3600, abs=30)
    (_, path, headers, _) = stub.requests[0]
    parameters = {key: values[0] for key, values in parse_qs(urlsplit(path).query).items()}
    assert parameters["resource"] == "https://shop.servicebus.windows.net"
    assert parameters["client_id"] == "id-of-identity"
    assert headers["x-identity-header"] == SECRET


def test_azure_rejects_the_identity(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{stub.url}/identity")
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    stub.respond = lambda method, path: (400, json.dumps({"message": SECRET}), {"Content-Type": "application/json"})
    with pytest.raises(AuthenticationError, match=r"azure-identity raised \w+\. Check the credentials of this") as e:
        call_provider(config(AZURE))
    assert SECRET not in str(e.value)


def test_a_token_is_requested_once(stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", service_account(stub, tmp_path))
    response = json.dumps({"access_token": "ya29.account", "expires_in": 3600, "token_type": "Bearer"})
    stub.respond = lambda method, path: (200, response, {"Content-Type": "application/json"})
    assert len({get_token(config(GOOGLE), 10) for _ in range(3)}) == 1
    assert len(stub.requests) == 1
