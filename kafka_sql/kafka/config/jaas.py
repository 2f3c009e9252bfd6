"""``sasl.jaas.config`` in librdkafka's words.

Grammar: Java's JAAS login configuration without its braces (Kafka's JaasConfig, which reads it by a StreamTokenizer):
``module flag key=value key="value" ... ;``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.errors import InvalidOptionError, MissingOptionError, UnsupportedOptionError, did_you_mean

_OPTION: Final = "properties.sasl.jaas.config"
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
# a reference to a secret may stand outside of quotes
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<comment>//[^\n]*|/\*(?:.*?\*/|.*))|(?P<sign>[=;])|"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'"""
    r"""|(?P<word>(?:\$\{[^}]{0,4096}\}|[^\s=;"'])+)|(?P<open>["']))""",
    re.DOTALL,
)
_CLASS: Final = re.compile(r"[\w$.]{1,500}")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_EXAMPLE: Final = (
    'Expected for instance: org.apache.kafka.common.security.plain.PlainLoginModule required username="..." '
    'password="...";'
)


@dataclass(frozen=True)
class LoginModule:
    """What a JAAS string says.

    Attributes:
        module: the login module's class, without its package.
        options: by name.
    """

    module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> LoginModule:
    """Read a JAAS string.

    Raises:
        InvalidOptionError: it is cut off or malformed; nothing of it is quoted but the module's name.
    """
    tokens = list(_tokens(text))
    if len(tokens) < 3:
        raise _malformed("it is cut off: a login module, a flag and options are expected, and ';' at the end")
    if tokens[-1] != ("sign", ";"):
        raise _malformed("it does not end with ';': is it cut off?")
    (_, module), (_, flag), body = tokens[0], tokens[1], tokens[2:-1]
    if not _CLASS.fullmatch(module):  # it is quoted by others, and a quote that is missing may have brought anything in
        raise _malformed("it does not begin with a login module, which is the name of a Java class")
    if flag.lower() not in _FLAGS:
        raise _malformed(f"after the login module a flag is expected, one of {', '.join(_FLAGS)}")
    if ("sign", ";") in body:
        raise _malformed("it has more than one login module, or a ';' that stands outside of quotes")
    options: dict[str, str] = {}
    for at in range(0, len(body), 3):
        part = body[at : at + 3]
        if len(part) < 3 or part[1] != ("sign", "=") or part[0][0] == "sign" or part[2][0] == "sign":
            raise _malformed(
                f'option {at // 3 + 1} of the login module is not of the form key="value": a value with other signs '
                "than letters and digits needs quotes, and a quote or backslash within them a backslash"
            )
        options[part[0][1]] = part[2][1]
    return LoginModule(module.rpartition(".")[2], options)


def to_librdkafka_options(login: LoginModule) -> dict[str, str]:
    """librdkafka's options for a login.

    Raises:
        UnsupportedOptionError: the login module cannot be carried.
        MissingOptionError: it lacks an option.
    """
    if login.module not in _MODULES:
        raise UnsupportedOptionError(
            f"Option '{_OPTION}': login module '{login.module}' is a Java class that this client does not have. It "
            f"knows {', '.join(_MODULES)}.{did_you_mean(login.module, _MODULES)}"
        )
    return _MODULES[login.module](login)


def _password(login: LoginModule) -> dict[str, str]:
    if login.module == "ScramLoginModule" and login.options.get("tokenauth", "false").lower() == "true":
        raise UnsupportedOptionError(
            f"Option '{_OPTION}': tokenauth=true, a delegation token, is not supported: librdkafka has none. Use a "
            "user and a password."
        )
    return {f"sasl.{key}": _needed(login, key) for key in ("username", "password")}


def _kerberos(login: LoginModule) -> dict[str, str]:
    found = {}
    if "principal" in login.options:
        found["sasl.kerberos.principal"] = login.options["principal"]
    if "serviceName" in login.options:
        found["sasl.kerberos.service.name"] = login.options["serviceName"]
    if login.options.get("useKeyTab", "false").lower() == "true":
        found["sasl.kerberos.keytab"] = _needed(login, "keyTab")
    else:
        found["sasl.kerberos.min.time.before.relogin"] = "0"  # the ticket cache is kept by others
    return found


def _bearer(login: LoginModule) -> dict[str, str]:
    found = {}
    names = {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    for java, ours in names.items():
        if java in login.options:
            found[ours] = login.options[java]
    extensions = {k[len("extension_") :]: v for k, v in login.options.items() if k.startswith("extension_")}
    if extensions:
        found["sasl.oauthbearer.extensions"] = ",".join(f"{key}={value}" for key, value in extensions.items())
    subject = login.options.get("unsecuredLoginStringClaim_sub")
    if subject is not None:
        found["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        found["sasl.oauthbearer.config"] = f"principal={subject}"
    return found


_MODULES: Final[Mapping[str, Callable[[LoginModule], dict[str, str]]]] = {
    "PlainLoginModule": _password,
    "ScramLoginModule": _password,
    "OAuthBearerLoginModule": _bearer,
    "Krb5LoginModule": _kerberos,
}


def _needed(login: LoginModule, key: str) -> str:
    if key not in login.options:
        raise MissingOptionError(f"Option '{_OPTION}': {login.module} needs {key}=\"...\".")
    return login.options[key]


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "open":
            raise _malformed("a quote is opened and not closed: is it cut off?")
        kind, at = str(match.lastgroup), match.end()
        if kind in ("double", "single"):
            found.append(("text", re.sub(r"\\(.)", _unescaped, match[kind], flags=re.DOTALL)))
        elif kind != "comment":
            found.append((kind, match[kind]))
    return found


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def _malformed(why: str) -> InvalidOptionError:
    return InvalidOptionError(f"Option '{_OPTION}' cannot be read: {why}. {_EXAMPLE}")
