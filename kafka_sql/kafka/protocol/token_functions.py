"""Get OAUTHBEARER tokens from ``sasl.oauthbearer.token-provider``: a Python function, or the package of a cloud.

The function has the signature of confluent-kafka's ``oauth_cb``. Its tokens, and the messages of its exceptions, are
neither shown nor logged.
"""

from __future__ import annotations

import inspect
import re
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from kafka_sql.errors import AuthenticationError, InvalidOptionError, KafkaSqlError
from kafka_sql.kafka.config.token_providers import CLOUDS, PROVIDER
from kafka_sql.kafka.protocol.cloud_tokens import get_cloud_token
from kafka_sql.kafka.protocol.oauth import Token, TokenEndpointUnavailableError
from kafka_sql.options.allow_lists import import_callable

_OPTION: Final = f"properties.{PROVIDER}"
_ARGUMENT: Final = "sasl.oauthbearer.config"
_IMPORT_ADVICE: Final = (
    " It must be importable on the driver and on every executor: install its package there, or distribute it with "
    "spark.submit.pyFiles or spark.addArtifact."
)
_EXPECTED: Final = (
    "expected a tuple of the token and of the time at which it expires, in seconds since 1970 or as a "
    "datetime.timedelta from now"
)
# what RFC 6750 and 7628 allow, so that a token cannot add other parts to the message for the broker
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_EXTENSION_NAME: Final = re.compile(r"(?!auth\Z)[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_YEAR_5138: Final = 1e11  # in seconds; a larger number is one of milliseconds
_YEAR_2001: Final = 1e9  # in seconds; a smaller number is a lifetime


def call_provider(config: Mapping[str, str]) -> Token:
    """Return a new token.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.

    Raises:
        InvalidOptionError: the function cannot be imported, is not allowed, or did not return a token.
        UnsupportedOptionError: the package of a cloud is not installed.
        AuthenticationError: the function raised an exception.
        TokenEndpointUnavailableError: it raised an ``OSError``, such as ``ConnectionError``: a retry may help.
    """
    provider = config[PROVIDER]
    if provider in CLOUDS:
        return _check_token(provider, get_cloud_token(provider, config))
    function: Callable[[str], Any] = import_callable(_OPTION, provider, "here", _IMPORT_ADVICE)
    argument = config.get(_ARGUMENT, "")
    _check_signature(provider, function)
    try:
        result = function(argument)
    except KafkaSqlError:
        raise
    except OSError as e:
        raise TokenEndpointUnavailableError(_describe_failure(provider, e)) from None
    except Exception as e:  # noqa: BLE001  # of the user's function
        raise AuthenticationError(f"{_describe_failure(provider, e)}.") from None
    return _check_token(provider, result)


def _check_signature(provider: str, function: Callable[[str], Any]) -> None:
    try:
        inspect.signature(function).bind("")
    except ValueError:  # Python does not know the signature, for example of a function in C
        return
    except TypeError:
        raise InvalidOptionError(
            f"Option '{_OPTION}' = '{provider}': the function must accept one argument, the text of option "
            f"'properties.{_ARGUMENT}', which is empty by default.",
            option=_OPTION,
        ) from None


def _describe_failure(provider: str, error: Exception) -> str:
    """Return the class of an exception and its line in the function's file; its message may contain a secret."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    lines = [frame for frame in frames if frame.filename == frames[0].filename]
    where = f" in {Path(lines[-1].filename).name}, line {lines[-1].lineno}" if lines else ""
    return (
        f"Option '{_OPTION}' = '{provider}': the function raised {type(error).__name__}{where}. The message is not "
        "shown, because it may contain a secret: call the function in Python on this machine to see it"
    )


def _check_token(provider: str, result: object) -> Token:
    """Check the result of a function or of a cloud's package, and return it as a token."""

    def invalid(problem: str) -> InvalidOptionError:
        return InvalidOptionError(
            f"Option '{_OPTION}' = '{provider}': the function returned {problem}.", option=_OPTION
        )

    if not isinstance(result, (tuple, list)) or not 2 <= len(result) <= 4:
        size = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
        raise invalid(f"a {type(result).__name__}{size}: {_EXPECTED}")
    value, expiry = result[:2]
    if not isinstance(value, str):
        raise invalid(f"a token of type {type(value).__name__}: {_EXPECTED}")
    if not _TOKEN.fullmatch(value):
        raise invalid("a token that is empty or has characters other than letters, digits and -._~+/=")
    if isinstance(expiry, timedelta):
        expires_at = time.time() + expiry.total_seconds()
    elif isinstance(expiry, (int, float)) and not isinstance(expiry, bool):
        if expiry > _YEAR_5138:
            raise invalid("an expiry time in milliseconds: expected seconds since 1970")
        if 0 < expiry < _YEAR_2001:
            raise invalid("a number of seconds from now: expected seconds since 1970, or a datetime.timedelta")
        expires_at = float(expiry)
    else:
        raise invalid(f"an expiry time of type {type(expiry).__name__}: {_EXPECTED}")
    if not expires_at > time.time():
        raise invalid("a token that has expired. Check the function and the clock of this machine")
    extensions = result[3] if len(result) > 3 else {}
    if not isinstance(extensions, Mapping) or not all(_is_extension(item) for item in extensions.items()):
        raise invalid("invalid SASL extensions: expected a dict of names, which consist of letters, and strings")
    return Token(value, expires_at, "".join(f"\x01{name}={text}" for name, text in extensions.items()))


def _is_extension(item: tuple[object, object]) -> bool:
    name, value = item
    return (
        isinstance(name, str)
        and isinstance(value, str)
        and bool(_EXTENSION_NAME.fullmatch(name) and _EXTENSION_VALUE.fullmatch(value))
    )
