"""Bearer tokens as librdkafka's options describe them: an OIDC client's, or an unsecured one for tests."""

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

_SECONDS: Final = 30
_LARGEST: Final = 1 << 20  # bytes of an answer


def check_oauth(config: Mapping[str, str]) -> None:
    """Refuse ways to a token that this client does not know.

    Raises:
        InvalidOptionError: names the option.
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
            "'properties.sasl.oauthbearer.token.endpoint.url', '...client.id' and '...client.secret'."
        )


def token(config: Mapping[str, str]) -> str:
    """A token for one connection, from ``config`` with its references resolved.

    Raises:
        BrokerError: the endpoint gives none; its answer is not quoted.
    """
    if config.get("sasl.oauthbearer.method", "default").lower() == "oidc":
        return _from_endpoint(config)
    try:
        return _unsecured(config.get("sasl.oauthbearer.config", ""))
    except ValueError:
        raise BrokerError("Option 'properties.sasl.oauthbearer.config' cannot be read.") from None


def extensions(config: Mapping[str, str]) -> str:
    """SASL extensions as RFC 7628 has them."""
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
        raise BrokerError("Option 'properties.sasl.oauthbearer.token.endpoint.url' is no http(s) address.")
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode(), headers)
    authorities = config.get("https.ca.location"), config.get("https.ca.pem")
    context = ssl.create_default_context(cafile=authorities[0] or None, cadata=authorities[1] or None)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS, context=context) as answer:
            found: dict[str, Any] = json.loads(answer.read(_LARGEST))
        return str(found["access_token"])
    except urllib.error.HTTPError as e:
        why = f"HTTP status {e.code}"
    except urllib.error.URLError as e:
        why = str(e.reason)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError) as e:
        why = type(e).__name__
    raise BrokerError(f"The token endpoint of 'properties.sasl.oauthbearer.token.endpoint.url' gave no token: {why}.")


def _unsecured(settings: str) -> str:
    """A JWT without a signature, of librdkafka's ``sasl.oauthbearer.config``: principal, scope, life."""
    given = dict(word.partition("=")[::2] for word in shlex.split(settings))
    now = int(time.time())
    claims: dict[str, Any] = {
        given.get("principalClaimName", "sub"): given.get("principal", ""),
        "iat": now,
        "exp": now + int(given.get("lifeSeconds", "3600")),
    }
    if "scope" in given:
        claims[given.get("scopeClaimName", "scope")] = given["scope"].split(",")
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
