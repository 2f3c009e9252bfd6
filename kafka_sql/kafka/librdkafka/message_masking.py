"""Remove what must not be shown from librdkafka's messages: secrets, and responses of token endpoints.

librdkafka quotes the response of a token endpoint that rejects a request. The author of a statement
can name any URL as the endpoint, even that of an internal service, and could read its responses in the errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.options.secret_references import mask_secrets

_TOKEN_FAILURE: Final = re.compile(
    r'((?:SASL OAUTHBEARER token|(?:OIDC|JWT) token from "[^"]*"): )(.*?)( \(-?\d+\))?\Z', re.DOTALL
)
# messages of librdkafka and libcurl
_CLIENT_MESSAGES: Final = re.compile(
    r"""(?:Failed to connect to |Could(?:n't| not) (?:connect|resolve) |(?:Connection|Operation|Resolving) timed out"""
    r"""|Timeout was reached|SSL |SSL: |OpenSSL |TLS |Recv failure: |Send failure: |Empty reply from server"""
    r"""|Server did not provide an error string|Expected (?:JSON |token as )|Failed to (?:decode|parse) (?:JSON|JWT) """
    r"""|Must supply an unexpired token: )[\w .,:;()'"/\[\]*=-]{0,300}"""
)
# RFC 6749, section 5.2
_OAUTH_ERRORS: Final = (
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
)


def mask_message(text: str, config: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """Return a message of librdkafka as it may be shown."""
    return mask_secrets(_TOKEN_FAILURE.sub(_hide_response, text), config, settings)


def _hide_response(failure: re.Match[str]) -> str:
    start, response, status = failure[1], failure[2], failure[3] or ""
    if _CLIENT_MESSAGES.fullmatch(response):
        return failure[0]
    code = next((code for code in _OAUTH_ERRORS if f'"{code}"' in response), None)
    reason = f"the endpoint returned the error {code}" if code else "the endpoint returned an invalid response"
    return f"{start}{reason}{status}"
