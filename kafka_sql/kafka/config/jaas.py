"""Convert ``sasl.jaas.config`` to librdkafka's options.

Grammar: Java's JAAS login configuration without its braces (Kafka's JaasConfig, which uses a StreamTokenizer):
``module flag key=value key="value" ... ;``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.token_providers import AWS_MECHANISM, PARAMETERS
from kafka_sql.suggestions import did_you_mean

JAAS: Final = "sasl.jaas.config"
_OPTION: Final = f"properties.{JAAS}"
_AWS_OPTIONS: Final = {  # of aws-msk-iam-auth, for ``token_providers``
    "awsProfileName": "profile",
    "awsRoleArn": "role-arn",
    "awsRoleSessionName": "role-session-name",
    "awsRoleExternalId": "role-external-id",
    "awsRoleAccessKeyId": "access-key-id",
    "awsRoleSecretAccessKey": "secret-access-key",
    "awsRoleSessionToken": "session-token",
    "awsStsRegion": "sts-region",
}
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
# a reference to a secret needs no quotes
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<comment>//[^\n]*|/\*(?:.*?\*/|.*))|(?P<symbol>[=;])|"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'"""
    r"""|(?P<word>(?:\$\{[^}]{0,4096}\}|[^\s=;"'])+)|(?P<open>["']))""",
    re.DOTALL,
)
_CLASS: Final = re.compile(r"[\w$.]{1,500}")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_JAVA_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_FILE_OPTIONS: Final = ("keyTab", "ticketCache")  # of Krb5LoginModule
_CLASSES: Final = {
    "PlainLoginModule": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "ScramLoginModule": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAuthBearerLoginModule": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    "IAMLoginModule": "software.amazon.msk.auth.iam.IAMLoginModule",
    "Krb5LoginModule": "com.sun.security.auth.module.Krb5LoginModule",
}
_EXAMPLE: Final = (
    'Example: org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";'
)


@dataclass(frozen=True)
class LoginModule:
    """The login module of a JAAS string."""

    name: str  # the class name without its package
    options: Mapping[str, str] = field(repr=False)  # by name


def parse_jaas(text: str) -> LoginModule:
    """Parse a JAAS string.

    Raises:
        InvalidOptionError: it is truncated or malformed. The message quotes nothing of it.
    """
    tokens = list(_tokens(remove_escapes(text)))
    if len(tokens) < 3:
        raise _malformed("it is truncated: expected a login module, a flag, options, and ';' at the end")
    if tokens[-1] != ("symbol", ";"):
        raise _malformed("it does not end with ';'; it may be truncated")
    (_, module), (_, flag), body = tokens[0], tokens[1], tokens[2:-1]
    if not _CLASS.fullmatch(module):  # other messages quote it, and after a missing quote it may contain a secret
        raise _malformed("it does not start with a login module, the name of a Java class")
    if flag.lower() not in _FLAGS:
        raise _malformed(f"expected a flag after the login module: {', '.join(_FLAGS)}")
    if ("symbol", ";") in body:
        raise _malformed("it has more than one login module, or a ';' outside quotes")
    options: dict[str, str] = {}
    for i in range(0, len(body), 3):
        part = body[i : i + 3]
        if len(part) < 3 or part[1] != ("symbol", "=") or part[0][0] == "symbol" or part[2][0] == "symbol":
            raise _malformed(
                f'option {i // 3 + 1} of the login module is not of the form key="value". Quote values with '
                "characters other than letters and digits, and escape quotes and backslashes with a backslash"
            )
        options[part[0][1]] = part[2][1]
    return LoginModule(module.rpartition(".")[2], options)


def remove_escapes(text: str) -> str:
    r"""Return a JAAS string without the backslashes of a Java string, such as ``username=\"me\"`` in Flink's examples.

    They are removed if every quote has one: with them, the string would be invalid.
    """
    is_java_literal = '=\\"' in text and text.count('"') == text.count('\\"')
    return re.sub(r'\\(["\\])', r"\1", text) if is_java_literal else text


def to_java_string(text: str) -> str:
    """Return a JAAS string of one of the supported login modules that Java reads as ``parse_jaas`` does.

    Java's parser differs, for example, in quoted strings with line breaks, and would create any class.

    Raises:
        InvalidOptionError: as ``parse_jaas``.
        UnsupportedOptionError: another login module.
    """
    module = parse_jaas(text)
    _check_supported(module)
    options = "".join(f" {_quote_name(name)}={_quote(value)}" for name, value in module.options.items())
    return f"{_CLASSES[module.name]} required{options};"


def file_options(text: str) -> list[str]:
    """Return the names of the login module's options that name files, which Java reads."""
    return [name for name in parse_jaas(text).options if name in _FILE_OPTIONS]


def _quote_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else _quote(name)


def _quote(value: str) -> str:
    return f'"{"".join(_JAVA_ESCAPES.get(character, character) for character in value)}"'


def _check_supported(module: LoginModule) -> None:
    if module.name not in _MODULES:
        raise UnsupportedOptionError(
            f"Option '{_OPTION}': login module '{module.name}' is a Java class that is not supported. "
            f"Supported: {', '.join(_MODULES)}.{did_you_mean(module.name, _MODULES)}",
            option=_OPTION,
        )


def to_librdkafka_options(module: LoginModule, mechanism: str | None = None) -> dict[str, str]:
    """Return librdkafka's options for a login module.

    Args:
        mechanism: the SASL mechanism; None if it is not known, or without SASL.

    Raises:
        UnsupportedOptionError: librdkafka has no counterpart.
        MissingOptionError: an option of the login module is missing.
        ConflictingOptionsError: the login module is one of another mechanism.
    """
    _check_supported(module)
    if mechanism is not None and mechanism not in _MECHANISMS[module.name]:
        mechanisms = " or ".join(f"'{name}'" for name in _MECHANISMS[module.name])
        expected = next((name for name, mechanisms in _MECHANISMS.items() if mechanism in mechanisms), None)
        advice = f", or use login module '{expected}'" if expected else ""
        raise ConflictingOptionsError(
            f"Option '{_OPTION}': login module '{module.name}' does not match 'properties.sasl.mechanism' = "
            f"'{mechanism}'. Set 'properties.sasl.mechanism' to {mechanisms}{advice}.",
            option="properties.sasl.mechanism",
        )
    return _MODULES[module.name](module)


def _password(module: LoginModule) -> dict[str, str]:
    if module.name == "ScramLoginModule" and module.options.get("tokenauth", "false").lower() == "true":
        raise UnsupportedOptionError(
            f"Option '{_OPTION}': tokenauth=true (a delegation token) is not supported by librdkafka. Use a user "
            "name and a password.",
            option=_OPTION,
        )
    return {f"sasl.{key}": _required(module, key) for key in ("username", "password")}


def _kerberos(module: LoginModule) -> dict[str, str]:
    config = {}
    if "principal" in module.options:
        config["sasl.kerberos.principal"] = module.options["principal"]
    if "serviceName" in module.options:
        config["sasl.kerberos.service.name"] = module.options["serviceName"]
    if module.options.get("useKeyTab", "false").lower() == "true":
        config["sasl.kerberos.keytab"] = _required(module, "keyTab")
    else:
        config["sasl.kerberos.min.time.before.relogin"] = "0"  # something else refreshes the ticket cache
    return config


def _oauth_bearer(module: LoginModule) -> dict[str, str]:
    config = {}
    names = {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    for option, key in names.items():
        if option in module.options:
            config[key] = module.options[option]
    extensions = {k[len("extension_") :]: v for k, v in module.options.items() if k.startswith("extension_")}
    if extensions:
        config["sasl.oauthbearer.extensions"] = ",".join(f"{key}={value}" for key, value in extensions.items())
    subject = module.options.get("unsecuredLoginStringClaim_sub")
    if subject is not None:
        config["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        config["sasl.oauthbearer.config"] = f"principal={subject}"
    return config | _aws(module)


def _aws(module: LoginModule) -> dict[str, str]:
    names = {option: f"{PARAMETERS}{name}" for option, name in _AWS_OPTIONS.items()}
    return {names[option]: value for option, value in module.options.items() if option in names and value}


_MODULES: Final[Mapping[str, Callable[[LoginModule], dict[str, str]]]] = {
    "PlainLoginModule": _password,
    "ScramLoginModule": _password,
    "OAuthBearerLoginModule": _oauth_bearer,
    "IAMLoginModule": _aws,
    "Krb5LoginModule": _kerberos,
}

_MECHANISMS: Final[Mapping[str, tuple[str, ...]]] = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
    "IAMLoginModule": (AWS_MECHANISM, "OAUTHBEARER"),  # which replaces it
    "Krb5LoginModule": ("GSSAPI",),
}


def _required(module: LoginModule, key: str) -> str:
    if key not in module.options:
        raise MissingOptionError(f"Option '{_OPTION}': {module.name} requires {key}=\"...\".", option=_OPTION)
    return module.options[key]


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "open":
            raise _malformed("a quote is not closed; it may be truncated")
        token_type, position = str(match.lastgroup), match.end()
        if token_type in ("double", "single"):
            tokens.append(("text", re.sub(r"\\(.)", _unescape, match[token_type], flags=re.DOTALL)))
        elif token_type != "comment":
            tokens.append((token_type, match[token_type]))
    return tokens


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def _malformed(reason: str) -> InvalidOptionError:
    return InvalidOptionError(f"Option '{_OPTION}' cannot be parsed: {reason}. {_EXAMPLE}", option=_OPTION)
