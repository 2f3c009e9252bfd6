"""OAUTHBEARER tokens: one request for many connections, renewal, and endpoints that are unavailable for a while."""

from __future__ import annotations

import base64
import json
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec, token_cache
from kafka_sql.kafka.protocol.codec import ApiKey, Reader, pack
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError, fetch_token
from kafka_sql.kafka.protocol.token_cache import discard_token
from tests.http_server import serve
from tests.token_values import get_token
from tests.unit.kafka.direct.simulated_broker import SimulatedBroker, simulated_broker

PREFIX = "sasl.oauthbearer."
NOW = 1_800_000_000  # seconds since 1970


class Endpoint:
    """A token endpoint. Its tokens are numbered.

    Attributes:
        config: a client's options for it.
        statuses: the HTTP statuses of the next responses; 200 afterwards.
        fields: more fields of the responses.
        delay: seconds until it responds.
        requests: authorization header and body of all requests so far.
    """

    def __init__(self) -> None:
        self.config = dict[str, str]()
        self.statuses = list[int]()
        self.fields: dict[str, Any] = {"expires_in": 3600}
        self.delay = 0.0
        self.location = ""
        self.requests = list[tuple[str | None, bytes]]()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.requests.append((self.headers["Authorization"], body))
            time.sleep(state.delay)
            status = state.statuses.pop(0) if state.statuses else 200
            content = {"access_token": f"token {len(state.requests)}", **state.fields} if status == 200 else {}
            response = json.dumps(content).encode()
            self.send_response(status)
            if state.location:
                self.send_header("Location", state.location)
            self.send_header("Content-Length", str(len(response)))
            self.end_headers()
            self.wfile.write(response)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with serve(Handler) as address:
        state.config = {
            f"{PREFIX}method": "oidc",
            f"{PREFIX}token.endpoint.url": f"{address}/token",
            f"{PREFIX}client.id": "me",
            f"{PREFIX}client.secret": "s3cret",
            f"{PREFIX}scope": "kafka",
        }
        yield state


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "_tokens", {})


def jwt(**claims: object) -> str:
    """Return a JWT with a header and a signature that is not checked."""
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.x"


def test_request(endpoint: Endpoint) -> None:
    assert fetch_token(endpoint.config).value == "token 1"
    assert endpoint.requests == [("Basic bWU6czNjcmV0", b"grant_type=client_credentials&scope=kafka")]


@pytest.mark.parametrize(
    ("fields", "lifetime"),
    [
        ({}, 0),
        ({"expires_in": 100}, 100),
        ({"expires_in": "100"}, 100),
        ({"expires_in": -1}, 0),
        ({"expires_in": None}, 0),
        ({"access_token": jwt(exp=NOW + 1000)}, 1000),
        ({"access_token": jwt(exp=NOW + 1000), "expires_in": 500}, 500),
        ({"access_token": jwt(exp=NOW + 1000), "expires_in": 5000}, 1000),
        ({"access_token": jwt(exp=1)}, 0),
        ({"access_token": jwt(sub="me")}, 0),
        ({"access_token": "a.b.c"}, 0),
        ({"access_token": "a.é.c"}, 0),
    ],
)
def test_lifetime(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], lifetime: float) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    endpoint.fields = fields
    assert fetch_token(endpoint.config).expires_at - NOW == lifetime


def test_threads_share_a_token(endpoint: Endpoint) -> None:
    endpoint.delay = 0.2
    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(lambda _: get_token(endpoint.config, 60), range(32)))
    assert tokens == ["token 1"] * 32
    assert len(endpoint.requests) == 1


def test_other_options_need_another_token(endpoint: Endpoint) -> None:
    assert get_token(endpoint.config, 60) == "token 1"
    assert get_token({**endpoint.config, f"{PREFIX}client.secret": "rotated"}, 60) == "token 2"
    assert get_token({**endpoint.config, "bootstrap.servers": "b"}, 60) == "token 1"


def test_tokens_of_rotated_credentials_are_forgotten(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "_MAX_TOKENS", 2)
    for number in range(6):
        get_token({**endpoint.config, f"{PREFIX}client.secret": str(number)}, 60)
    assert len(token_cache._tokens) <= 2


@pytest.mark.parametrize(("age", "count"), [(0.79, 1), (0.86, 2), (1.5, 2)])
def test_a_token_is_renewed_before_it_expires(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, age: float, count: int
) -> None:
    began = time.time()
    monkeypatch.setattr(time, "time", lambda: began)
    get_token(endpoint.config, 60)
    monkeypatch.setattr(time, "time", lambda: began + age * 3600)
    assert get_token(endpoint.config, 60) == f"token {count}"
    assert len(endpoint.requests) == count


def test_a_token_without_a_lifetime_is_not_shared(endpoint: Endpoint) -> None:
    endpoint.fields = {}
    assert [get_token(endpoint.config, 60) for _ in range(2)] == ["token 1", "token 2"]


def test_a_valid_token_is_used_while_the_endpoint_is_unavailable(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    get_token(endpoint.config, 60)
    now[0] += 3590
    endpoint.statuses = [503, 429]
    assert get_token(endpoint.config, 60) == "token 1"
    assert get_token(endpoint.config, 60) == "token 1"
    assert len(endpoint.requests) == 2  # the next attempt is ten seconds later
    now[0] += 11
    assert get_token(endpoint.config, 60) == "token 4"  # it has expired: the second refusal is retried


def test_a_valid_token_is_used_while_another_thread_renews_it(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    get_token(endpoint.config, 60)
    now[0] += 3590
    (cached,) = token_cache._tokens.values()
    with cached.lock:
        assert get_token(endpoint.config, 60) == "token 1"
        now[0] += 11
        with pytest.raises(TokenEndpointUnavailableError, match="another connection"):
            get_token(endpoint.config, 0.05)


def test_an_unavailable_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.statuses = [503, 500, 429]
    assert get_token(endpoint.config, 60) == "token 4"


def test_an_endpoint_that_stays_unavailable(endpoint: Endpoint) -> None:
    endpoint.statuses = [503] * 1000
    began = time.monotonic()
    with pytest.raises(TokenEndpointUnavailableError, match="HTTP status 503"):
        get_token(endpoint.config, 3)
    assert time.monotonic() - began < 30
    assert len(endpoint.requests) <= 7  # after 0, 0.1, 0.3, 0.7, 1.5 and, with jitter, 2.6 seconds


def test_an_endpoint_that_does_not_respond(endpoint: Endpoint) -> None:
    endpoint.delay = 5
    began = time.monotonic()
    with pytest.raises(TokenEndpointUnavailableError):
        get_token(endpoint.config, 0.2)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX-Header: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"]
)
def test_an_endpoint_that_trickles(start: bytes) -> None:
    def run() -> None:
        with suppress(OSError), listening.accept()[0] as connection:
            connection.sendall(start)
            while not over.wait(0.02):
                connection.sendall(b" ")

    over, began = threading.Event(), time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=run, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(TokenEndpointUnavailableError, match="the response is incomplete"):
            fetch_token({f"{PREFIX}token.endpoint.url": url}, 0.3)
        over.set()
    assert 0.3 <= time.monotonic() - began < 20


def test_user_and_password_in_the_url_are_neither_sent_nor_logged(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    url = endpoint.config[f"{PREFIX}token.endpoint.url"].replace("http://", "http://planted:4711@")
    with caplog.at_level("DEBUG"):
        fetch_token({**endpoint.config, f"{PREFIX}token.endpoint.url": url})
    assert endpoint.requests[0][0] == "Basic bWU6czNjcmV0"
    assert "planted" not in caplog.text


def test_a_rejected_client_is_not_retried(endpoint: Endpoint) -> None:
    endpoint.statuses = [401] * 10
    with pytest.raises(BrokerError, match="HTTP status 401"):
        get_token(endpoint.config, 60)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(endpoint: Endpoint, status: int) -> None:
    """The request contains the client's secret."""
    endpoint.statuses, endpoint.location = [status], endpoint.config[f"{PREFIX}token.endpoint.url"]
    with pytest.raises(BrokerError, match=f"HTTP status {status}"):
        get_token(endpoint.config, 60)
    assert len(endpoint.requests) == 1


def test_a_discarded_token_is_requested_again(endpoint: Endpoint) -> None:
    get_token(endpoint.config, 60)
    assert not discard_token(endpoint.config)  # it was new: another one would be rejected, too
    get_token(endpoint.config, 60)
    get_token(endpoint.config, 60)
    assert discard_token(endpoint.config)
    assert not discard_token(endpoint.config)
    assert get_token(endpoint.config, 60) == "token 3"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_locks_of_its_parent(endpoint: Endpoint) -> None:
    tokens: multiprocessing.Queue[str] = multiprocessing.get_context("fork").Queue()
    get_token(endpoint.config, 60)
    (cached,) = token_cache._tokens.values()
    with cached.lock:
        cached.token, cached.renew_at = cached.token._replace(expires_at=0.0), 0.0
        child = multiprocessing.get_context("fork").Process(target=lambda: tokens.put(get_token(endpoint.config, 10)))
        child.start()
        assert tokens.get(timeout=60) == "token 2"
        child.join()


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedBroker]:
    """A broker that accepts every token unless ``errors`` has an error code for SASL_AUTHENTICATE."""

    def handshake(_: SimulatedBroker, request: Reader, code: int) -> bytes:
        return pack("h", code) + codec.array([codec.string(request.string())])

    def authenticate(self: SimulatedBroker, request: Reader, code: int) -> bytes:
        self.messages[len(self.messages)] = request.data().decode()
        text = codec.string("invalid" if code else None, request.flexible)
        return pack("h", code) + text + codec.data(b"", request.flexible) + (pack("q", 0) if request.version else b"")

    monkeypatch.setitem(SimulatedBroker._handlers, ApiKey.SASL_HANDSHAKE, handshake)
    monkeypatch.setitem(SimulatedBroker._handlers, ApiKey.SASL_AUTHENTICATE, authenticate)
    with simulated_broker(t=1) as running:
        running.versions |= {ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}
        yield running


def config_of(broker: SimulatedBroker, endpoint: Endpoint, **more: str) -> dict[str, str]:
    protocol = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}
    return {**broker.config(**more), **protocol, **endpoint.config}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_connections_share_a_token(broker: SimulatedBroker, endpoint: Endpoint, version: int) -> None:
    broker.versions[ApiKey.SASL_AUTHENTICATE] = (0, version)
    for _ in range(5):
        Connection(broker.address, config_of(broker, endpoint)).close()
    assert len(endpoint.requests) == 1
    assert list(broker.messages.values()) == ["n,,\x01auth=Bearer token 1\x01\x01"] * 5
    assert broker.requested_versions[ApiKey.SASL_AUTHENTICATE] == [version] * 5


def test_sasl_requests_that_the_broker_does_not_list(broker: SimulatedBroker, endpoint: Endpoint) -> None:
    listed = dict(broker.versions)
    del listed[ApiKey.SASL_HANDSHAKE], listed[ApiKey.SASL_AUTHENTICATE]
    respond = SimulatedBroker._api_versions

    def list_others(self: SimulatedBroker, request: Reader, code: int) -> bytes:
        supported, self.versions = self.versions, listed
        try:
            return respond(self, request, code)
        finally:
            self.versions = supported

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SimulatedBroker._handlers, ApiKey.API_VERSIONS, list_others)
        Connection(broker.address, config_of(broker, endpoint)).close()
    assert broker.requested_versions[ApiKey.SASL_HANDSHAKE] == [1]
    assert broker.requested_versions[ApiKey.SASL_AUTHENTICATE] == [0]


def test_a_token_that_was_revoked_is_replaced(broker: SimulatedBroker, endpoint: Endpoint) -> None:
    Connection(broker.address, config_of(broker, endpoint)).close()
    broker.errors[ApiKey.SASL_AUTHENTICATE] = [ErrorCode.SASL_AUTHENTICATION_FAILED]
    with pytest.raises(ConnectionError, match="invalid"):
        Connection(broker.address, config_of(broker, endpoint))
    Connection(broker.address, config_of(broker, endpoint)).close()
    assert len(endpoint.requests) == 2


def test_a_new_token_that_is_rejected(broker: SimulatedBroker, endpoint: Endpoint) -> None:
    broker.errors[ApiKey.SASL_AUTHENTICATE] = [ErrorCode.SASL_AUTHENTICATION_FAILED]
    with pytest.raises(BrokerError, match=r"SASL authentication failed: invalid\. Check 'properties\.sasl"):
        Connection(broker.address, config_of(broker, endpoint))


def test_an_unavailable_endpoint_is_not_asked_for_each_bootstrap_server(
    broker: SimulatedBroker, endpoint: Endpoint
) -> None:
    endpoint.statuses = [503] * 1000
    config = config_of(broker, endpoint, socket_connection_setup_timeout_ms="1000")
    config["bootstrap.servers"] = ",".join(f"{host}:{broker.address[1]}" for host in ("127.0.0.1", "127.0.0.2"))
    with closing(ConnectionPool(config)) as pool, pytest.raises(TokenEndpointUnavailableError):
        pool.any_connection()
    assert len(endpoint.requests) <= 5  # at 0, 0.1, 0.3, 0.7 seconds, within one setup timeout
    assert broker.requested_versions == {}  # and before connecting
