"""Tokens of 'sasl.oauthbearer.token-provider' = 'module:function': calls, results, errors, renewal."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from kafka_sql.errors import AuthenticationError, InvalidOptionError, KafkaSqlError
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.protocol import token_cache
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError
from kafka_sql.kafka.protocol.sasl import discard_credentials, get_credentials, sasl_exchange
from kafka_sql.kafka.protocol.token_cache import get_valid_token
from kafka_sql.kafka.protocol.token_functions import call_provider
from tests.token_values import get_token
from tests.unit.kafka import token_functions as functions

pytestmark = pytest.mark.usefixtures("no_tokens")

MODULE = functions.__name__
SECRET = "planted-4711"


def config(name: str = "numbered", **more: str) -> dict[str, str]:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return {"sasl.mechanism": "OAUTHBEARER", PROVIDER: f"{MODULE}:{name}", **named}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("numbered", "token-1"),
        ("provider", "object-x"),
        ("Provider.create", "static-x"),
        ("provider.create", "static-x"),
    ],
)
def test_functions(name: str, value: str) -> None:
    token = call_provider(config(name, sasl_oauthbearer_config="x"))
    assert (token.value, round(token.expires_at - time.time()), token.extensions) == (value, 3600, "")


def test_the_argument() -> None:
    call_provider(config())
    call_provider(config(sasl_oauthbearer_config="realm=shop"))
    assert functions.CALLS == ["", "realm=shop"]


def test_results_of_oauth_cb() -> None:
    token = call_provider(config("like_oauth_cb"))
    assert (token.value, token.extensions) == ("a.b.c", "\x01logicalCluster=lkc-1\x01poolId=p 1")
    assert 3590 < token.expires_at - time.time() <= 3600
    both = get_credentials(config("like_oauth_cb", sasl_oauthbearer_extensions="own=x"), 10)
    assert next(sasl_exchange(both, "h")) == (
        b"n,,\x01auth=Bearer a.b.c\x01logicalCluster=lkc-1\x01poolId=p 1\x01own=x\x01\x01"
    )


@pytest.mark.parametrize("expiry", [timedelta(minutes=5), 300.0])
def test_expiry(expiry: Any) -> None:
    functions.RESULT.append(("t", time.time() + expiry if isinstance(expiry, float) else expiry))
    assert 295 < call_provider(config("returned")).expires_at - time.time() <= 300


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "a NoneType: expected a tuple of the token and of the time at which it expires, in seconds since 1970"),
        (SECRET, "a str: expected a tuple"),
        ((SECRET,), "a tuple of 1: expected a tuple"),
        ((SECRET, 1, "", {}, 5), "a tuple of 5: expected"),
        ((SECRET.encode(), timedelta(1)), "a token of type bytes: expected a tuple"),
        (("", timedelta(1)), "a token that is empty or has characters other than letters, digits and -._~+/="),
        ((f"{SECRET}\x01auth=x", timedelta(1)), "a token that is empty or has characters other than"),
        ((f"{SECRET}\n", timedelta(1)), "a token that is empty or has characters other than"),
        ((SECRET, None), "an expiry time of type NoneType: expected"),
        ((SECRET, True), "an expiry time of type bool: expected"),
        ((SECRET, "3600"), "an expiry time of type str: expected"),
        ((SECRET, 3600), "a number of seconds from now: expected seconds since 1970, or a datetime.timedelta"),
        ((SECRET, time.time() * 1000), "an expiry time in milliseconds: expected seconds since 1970"),
        ((SECRET, time.time() - 1), "a token that has expired. Check the function and the clock of this machine"),
        ((SECRET, timedelta(0)), "a token that has expired"),
        ((SECRET, float("nan")), "a token that has expired"),
        ((SECRET, -1), "a token that has expired"),
        ((SECRET, timedelta(1), "", [SECRET]), "invalid SASL extensions: expected a dict of names"),
        ((SECRET, timedelta(1), "", {"auth": "x"}), "invalid SASL extensions"),
        ((SECRET, timedelta(1), "", {"a1": "x"}), "invalid SASL extensions"),
        ((SECRET, timedelta(1), "", {"a": "x\x01auth=y"}), "invalid SASL extensions"),
        ((SECRET, timedelta(1), "", {"a": 1}), "invalid SASL extensions"),
    ],
)
def test_invalid_results(result: Any, problem: str) -> None:
    functions.RESULT.append(result)
    with pytest.raises(InvalidOptionError) as e:
        call_provider(config("returned"))
    assert e.value.option == f"properties.{PROVIDER}"
    start = f"[INVALID_OPTION] Option 'properties.{PROVIDER}' = '{MODULE}:returned': the function returned {problem}"
    assert str(e.value).startswith(start)
    assert SECRET not in str(e.value)


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        ("no_such_module:f", r"module 'no_such_module' cannot be imported here .* on the driver and on every executor"),
        (f"{MODULE}:missing", f"module '{MODULE}' has no callable 'missing'"),
        (f"{MODULE}:not_callable", f"module '{MODULE}' has no callable 'not_callable'"),
        (f"{MODULE}:without_argument", r"must accept one argument, the text of option 'properties.sasl.oauthbearer.c"),
    ],
)
def test_functions_that_cannot_be_called(provider: str, problem: str) -> None:
    with pytest.raises(InvalidOptionError, match=problem) as e:
        call_provider({PROVIDER: provider})
    assert e.value.option == f"properties.{PROVIDER}"
    assert f"'{provider}'" in str(e.value)


def test_exceptions_are_reported_without_their_messages() -> None:
    functions.RESULT.append(ValueError(SECRET))
    with pytest.raises(AuthenticationError) as e:
        call_provider(config("returned"))
    line = functions.raise_result.__code__.co_firstlineno + 1
    assert str(e.value) == (
        f"[AUTHENTICATION] Option 'properties.{PROVIDER}' = '{MODULE}:returned': the function raised ValueError in "
        f"token_functions.py, line {line}. The message is not shown, because it may contain a secret: call the "
        "function in Python on this machine to see it."
    )
    assert e.value.__cause__ is None
    assert e.value.__suppress_context__


def test_functions_must_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SQL_ALLOWED_MODULES", "shop.tokens")
    with pytest.raises(InvalidOptionError, match=f"KAFKA_SQL_ALLOWED_MODULES does not allow module '{MODULE}'"):
        get_token(config(), 10)
    monkeypatch.setenv("KAFKA_SQL_ALLOWED_MODULES", MODULE)
    with pytest.raises(InvalidOptionError, match="the callable is defined in a module that"):
        get_token(config("foreign_function"), 10)
    assert get_token(config(), 10) == "token-1"


def test_a_token_is_shared_by_clients_with_the_same_options() -> None:
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: get_token(config(), 60), range(32))) == {"token-1"}
    assert get_token(config(group_id="g"), 60) == "token-1"
    assert get_token(config(sasl_oauthbearer_config="x"), 60) == "token-2"
    assert functions.CALLS == ["", "x"]


def test_a_token_is_renewed_before_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    first = get_valid_token(config(), 60)
    assert first.expires_at == pytest.approx(now + 3600, abs=5)
    monkeypatch.setattr(token_cache.time, "time", lambda: now + 0.79 * 3600)
    assert get_token(config(), 60) == "token-1"
    monkeypatch.setattr(token_cache.time, "time", lambda: now + 0.86 * 3600)
    assert get_token(config(), 60) == "token-2"


@pytest.mark.parametrize("failure", [ValueError(SECRET), ConnectionError(SECRET), "no tuple"])
def test_a_valid_token_is_used_if_it_cannot_be_renewed(
    failure: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    functions.RESULT.append(("first", timedelta(seconds=100)))
    now = time.time()
    assert get_token(config("returned"), 60) == "first"
    functions.RESULT[0] = failure
    monkeypatch.setattr(token_cache.time, "time", lambda: now + 90)
    with caplog.at_level(logging.DEBUG):
        assert [get_token(config("returned"), 60) for _ in range(3)] == ["first"] * 3
    assert len(functions.CALLS) == 2  # the next attempt is after ten seconds
    assert caplog.messages[0].endswith("; the current token is used until it expires")
    assert SECRET not in caplog.text
    monkeypatch.setattr(token_cache.time, "time", lambda: now + 101)
    with pytest.raises((KafkaSqlError, TokenEndpointUnavailableError)):
        get_token(config("returned"), 0.05)
    functions.RESULT[0] = ("second", timedelta(seconds=100))
    assert get_token(config("returned"), 60) == "second"


def test_network_errors_are_retried_until_the_timeout() -> None:
    functions.RESULT.append(TimeoutError(SECRET))
    timer = threading.Timer(0.3, lambda: functions.RESULT.__setitem__(0, ("late", timedelta(1))))
    timer.start()
    assert get_token(config("returned"), 60) == "late"
    timer.join()
    functions.RESULT[0] = OSError(SECRET)
    with pytest.raises(TokenEndpointUnavailableError, match=r"raised OSError in token_functions\.py") as e:
        get_token(config("returned", sasl_oauthbearer_config="x"), 0.3)
    assert SECRET not in str(e.value)


def test_a_rejected_token_is_replaced() -> None:
    assert get_token(config(), 60) == "token-1"
    assert not discard_credentials(config())  # the first use of a token: a new one would be rejected, too
    assert [get_token(config(), 60) for _ in range(2)] == ["token-2"] * 2
    assert discard_credentials(config())
    assert get_token(config(), 60) == "token-3"
