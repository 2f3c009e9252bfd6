"""Get OAUTHBEARER tokens as librdkafka's options specify: from an OIDC endpoint, or unsecured ones for tests."""

from __future__ import annotations

import base64
import http.client
import json
import shlex
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from kafka_sql.errors import BrokerError, InvalidOptionError

_TIMEOUT_SECONDS: Final = 30
_MAX_RESPONSE: Final = 1 << 20  # bytes


def check_oauth(config: Mapping[str, str]) -> None:
    """Check that this client supports the configured way to get a token.

    Raises:
        InvalidOptionError: it does not; the message names the option.
    """
    method = config.get("sasl.oauthbearer.method", "default").lower()
    grant = config.get("sasl.oauthbearer.grant.type", "client_credentials").lower()
    assertion = [k for k in config if k.startswith(("sasl.oauthbearer.assertion.", "sasl.oauthbearer.metadata."))]
    unsecured = config.get("enable.sasl.oauthbearer.unsecure.jwt", "false").lower() in ("true", "t", "1")
    if grant != "client_credentials" or assertion:
        raise InvalidOptionError(
            f"Option 'properties.{'sasl.oauthbearer.grant.type' if not assertion else assertion[0]}' is not supported "
            "with 'sink.delivery-guarantee' = 'exactly-once': use the grant type 'client_credentials' with "
            "'properties.sasl.oauthbearer.client.id' and 'properties.sasl.oauthbearer.client.secret'."
        )
    if method != "oidc" and not unsecured:
        raise InvalidOptionError(
            "OAUTHBEARER needs 'properties.sasl.oauthbearer.method' = 'oidc' with the options "
            "'properties.sasl.oauthbearer.token.endpoint.url', '...client.id' and '...client.secret'.",
            option="properties.sasl.oauthbearer.token.endpoint.url",
        )


def fetch_token(config: Mapping[str, str]) -> str:
    """Return a token for one connection.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.

    Raises:
        BrokerError: the endpoint returned no token. Its response is not quoted: it may contain secrets.
    """
    if config.get("sasl.oauthbearer.method", "default").lower() == "oidc":
        return _from_endpoint(config)
    try:
        return _unsecured(config.get("sasl.oauthbearer.config", ""))
    except ValueError:
        raise BrokerError("Option 'properties.sasl.oauthbearer.config' is malformed.") from None


def extensions(config: Mapping[str, str]) -> str:
    """Return the SASL extensions in the format of RFC 7628."""
    pairs = [pair for pair in config.get("sasl.oauthbearer.extensions", "").split(",") if "=" in pair]
    return "".join(f"\x01{pair.strip()}" for pair in pairs)


def _from_endpoint(config: Mapping[str, str]) -> str:
    url = config.get("sasl.oauthbearer.token.endpoint.url", "")
    form = {"grant_type": "client_credentials"}
    if config.get("sasl.oauthbearer.scope"):
        form["scope"] = config["sasl.oauthbearer.scope"]
    pair = f"{config.get('sasl.oauthbearer.client.id', '')}:{config.get('sasl.oauthbearer.client.secret', '')}"
    headers = {
        "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    if not url.lower().startswith(("https://", "http://")):
        raise BrokerError("Option 'properties.sasl.oauthbearer.token.endpoint.url' is not an http(s) URL.")
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode(), headers)
    authorities = config.get("https.ca.location"), config.get("https.ca.pem")
    context = ssl.create_default_context(cafile=authorities[0] or None, cadata=authorities[1] or None)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=context) as response:
            content: dict[str, Any] = json.loads(response.read(_MAX_RESPONSE))
        return str(content["access_token"])
    except urllib.error.HTTPError as e:
        cause = f"HTTP status {e.code}"
    except urllib.error.URLError as e:
        cause = str(e.reason)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError) as e:
        cause = type(e).__name__
    raise BrokerError(
        f"The token endpoint of 'properties.sasl.oauthbearer.token.endpoint.url' returned no token: {cause}."
    )


def _unsecured(settings: str) -> str:
    """Return a JWT without a signature, as specified by librdkafka's ``sasl.oauthbearer.config``."""
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
