"""Get OAUTHBEARER tokens as librdkafka's options specify: from an OIDC endpoint, or unsecured ones for tests.

``token_cache`` keeps those of an endpoint for the connections that follow.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_sql.errors import BrokerError, InvalidOptionError
from kafka_sql.kafka.config.token_providers import PROVIDER

if TYPE_CHECKING:
    import httpx

_TIMEOUT_SECONDS: Final = 30
_MAX_RESPONSE: Final = 1 << 20  # bytes
_TRANSIENT_STATUS: Final = (408, 429)  # Request Timeout, Too Many Requests
_SERVER_ERROR: Final = 500
_URL: Final = "sasl.oauthbearer.token.endpoint.url"


def check_oauth(config: Mapping[str, str]) -> None:
    """Check that this client supports the configured way to get a token.

    Raises:
        InvalidOptionError: it does not; the message names the option.
    """
    if PROVIDER in config:
        return
    method = config.get("sasl.oauthbearer.method", "default").lower()
    grant = config.get("sasl.oauthbearer.grant.type", "client_credentials").lower()
    assertion = [k for k in config if k.startswith(("sasl.oauthbearer.assertion.", "sasl.oauthbearer.metadata."))]
    unsecured = config.get("enable.sasl.oauthbearer.unsecure.jwt", "false").lower() in ("true", "t", "1")
    if grant != "client_credentials" or assertion:
        option = f"properties.{assertion[0] if assertion else 'sasl.oauthbearer.grant.type'}"
        raise InvalidOptionError(
            f"Option '{option}' is not supported with 'sink.delivery-guarantee' = 'exactly-once': use the grant type "
            "'client_credentials' with 'properties.sasl.oauthbearer.client.id' and "
            "'properties.sasl.oauthbearer.client.secret'.",
            option=option,
        )
    if method != "oidc" and not unsecured:
        raise InvalidOptionError(
            "OAUTHBEARER needs 'properties.sasl.oauthbearer.method' = 'oidc' with the options "
            "'properties.sasl.oauthbearer.token.endpoint.url', '...client.id' and '...client.secret'.",
            option="properties.sasl.oauthbearer.token.endpoint.url",
        )


class TokenEndpointUnavailableError(ConnectionError):
    """The token endpoint does not respond, or cannot issue a token at the moment. A retry may help."""


class Token(NamedTuple):
    """A token of an endpoint or of a function."""

    value: str
    expires_at: float  # in seconds of ``time.time``; now if unknown
    extensions: str = ""  # SASL extensions in the format of RFC 7628


def uses_endpoint(config: Mapping[str, str]) -> bool:
    """Return whether tokens come from an endpoint."""
    return config.get("sasl.oauthbearer.method", "default").lower() == "oidc"


def fetch_token(config: Mapping[str, str], seconds: float = _TIMEOUT_SECONDS) -> Token:
    """Request a token from the endpoint.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.
        seconds: the time limit for the complete response.

    Raises:
        TokenEndpointUnavailableError: the endpoint is unavailable, overloaded or unreachable.
        BrokerError: the endpoint rejected the request, or returned no token. Its response is not quoted: it may contain
            secrets.
    """
    url = config.get(_URL, "")
    if not url.lower().startswith(("https://", "http://")):
        raise BrokerError(f"Option 'properties.{_URL}' is not an http(s) URL.")
    # lazy: most tables use no token, and the import takes longer than a connection
    import httpx

    from kafka_sql.runtime.bounded_http import ResponseTooLargeError

    try:
        response = _post(url, config, min(seconds, _TIMEOUT_SECONDS))
        if response.is_success:
            content = response.json()
            value = str(content["access_token"])
            return Token(value, _expiry(value, content.get("expires_in")))
        cause = f"HTTP status {response.status_code}"
        is_transient = response.status_code in _TRANSIENT_STATUS or response.status_code >= _SERVER_ERROR
    except httpx.TransportError as e:
        cause, is_transient = str(e) or type(e).__name__, not _is_certificate_error(e)
    except OSError as e:  # a file of certificates
        cause, is_transient = type(e).__name__, True
    except httpx.InvalidURL:
        cause, is_transient = "the URL is invalid", False
    except ResponseTooLargeError:
        cause, is_transient = f"the response has more than {_MAX_RESPONSE:,} bytes", False
    except (httpx.DecodingError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        cause, is_transient = type(e).__name__, False
    message = f"The token endpoint of 'properties.{_URL}' returned no token: {cause}"
    if is_transient:
        raise TokenEndpointUnavailableError(message)
    raise BrokerError(f"{message}.")


def unsecured_token(config: Mapping[str, str]) -> str:
    """Return a JWT without a signature, as specified by librdkafka's ``sasl.oauthbearer.config``.

    Raises:
        BrokerError: the option is malformed.
    """
    try:
        return _unsecured(config.get("sasl.oauthbearer.config", ""))
    except ValueError:
        raise BrokerError("Option 'properties.sasl.oauthbearer.config' is malformed.") from None


def extensions(config: Mapping[str, str]) -> str:
    """Return the SASL extensions in the format of RFC 7628."""
    pairs = [pair for pair in config.get("sasl.oauthbearer.extensions", "").split(",") if "=" in pair]
    return "".join(f"\x01{pair.strip()}" for pair in pairs)


def _post(url: str, config: Mapping[str, str], seconds: float) -> httpx.Response:
    """Send the request for a token (RFC 6749, section 4.4) and return the response.

    A redirect is not followed: the request contains the client's secret.
    """
    import httpx

    from kafka_sql.runtime.bounded_http import create_client, send_request

    deadline = time.monotonic() + seconds
    form = {"grant_type": "client_credentials"}
    if config.get("sasl.oauthbearer.scope"):
        form["scope"] = config["sasl.oauthbearer.scope"]
    user = config.get("sasl.oauthbearer.client.id", ""), config.get("sasl.oauthbearer.client.secret", "")
    authorities = config.get("https.ca.location"), config.get("https.ca.pem")
    context = ssl.create_default_context(cafile=authorities[0] or None, cadata=authorities[1] or None)
    endpoint = httpx.URL(url).copy_with(username=None, password=None)  # httpx logs it
    with create_client(context, seconds, {"Accept": "application/json"}) as client:
        return send_request(client, "POST", str(endpoint), deadline, _MAX_RESPONSE, data=form, auth=user)


def _is_certificate_error(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__
    return error is not None


def _expiry(token: str, expires_in: object) -> float:
    """Return when a token expires, as its endpoint reports and, for a JWT, its claims; now if unknown."""
    now = time.time()
    times = [now + float(expires_in)] if isinstance(expires_in, (int, float, str)) else []
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError, RecursionError):
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        times.append(float(claims["exp"]))
    return max(now, min(times, default=now))


def _unsecured(settings: str) -> str:
    parameters = dict(word.partition("=")[::2] for word in shlex.split(settings))
    now = int(time.time())
    claims: dict[str, Any] = {
        parameters.get("principalClaimName", "sub"): parameters.get("principal", ""),
        "iat": now,
        "exp": now + int(parameters.get("lifeSeconds", "3600")),
    }
    if "scope" in parameters:
        claims[parameters.get("scopeClaimName", "scope")] = parameters["scope"].split(",")
    return f"{_encode_part({'alg': 'none'})}.{_encode_part(claims)}."


def _encode_part(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
