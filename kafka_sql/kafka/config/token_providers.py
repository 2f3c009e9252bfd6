"""Choose where OAUTHBEARER tokens come from if not from a token endpoint: a Python function, or a cloud's package.

``sasl.oauthbearer.token-provider`` names either. The login callback handlers that AWS, Google and Azure have for Java's
clients are Java classes; each is replaced by the Python package of the same vendor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, UnsupportedOptionError
from kafka_sql.options.secret_references import has_reference
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean

PROVIDER: Final = "sasl.oauthbearer.token-provider"
PARAMETERS: Final = f"{PROVIDER}."
"""The prefix of options of a JAAS string for a provider. They are not options of tables."""
AWS, GOOGLE, AZURE = "aws", "gcp", "azure"
CLOUDS: Final = (AWS, GOOGLE, AZURE)
PACKAGES: Final[Mapping[str, str]] = {
    AWS: "aws-msk-iam-sasl-signer-python",
    GOOGLE: "google-auth",
    AZURE: "azure-identity",
}
"""The Python packages that create the tokens of clouds."""
AWS_MECHANISM: Final = "AWS_MSK_IAM"
OWN_PROPERTIES: Final[Mapping[str, str]] = {
    PROVIDER: "returns tokens for `sasl.mechanism` = `OAUTHBEARER`: a Python function, `module:function`, or `aws`, "
    "`gcp` or `azure`: see [security](security.md#tokens-of-a-python-function)",
}
"""The properties that neither Java's clients nor librdkafka have, with their descriptions for docs/properties.md."""

HANDLER_KEYS: Final = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
OIDC_HANDLER: Final = "OAuthBearerLoginCallbackHandler"
# without packages: Spark distributions relocate these classes
_HANDLERS: Final[Mapping[str, str]] = {
    "IAMClientCallbackHandler": AWS,
    "IAMOAuthBearerLoginCallbackHandler": AWS,
    "GcpLoginCallbackHandler": GOOGLE,
    "KafkaOAuth2AuthenticateCallbackHandler": AZURE,  # Spring Cloud Azure
    "AzureManagedIdentityCallbackHandler": AZURE,  # Conduktor
    "AzureEntraLoginCallbackHandler": AZURE,  # Kafbat
}
# the name in Azure's example for Event Hubs; other classes have it, too
_AZURE_EXAMPLE: Final = "CustomAuthenticateCallbackHandler"
_EVENT_HUBS: Final = re.compile(
    r"\.servicebus\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn)(?::\d+)?\s*(?:,|\Z)"
)

_FUNCTION: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
# other sources of tokens, with the values that are none
_OTHER_SOURCES: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.token.endpoint.url": "",
    "sasl.oauthbearer.method": "default",
    "sasl.oauthbearer.metadata.authentication.type": "none",
    "enable.sasl.oauthbearer.unsecure.jwt": "false",
    "sasl.oauthbearer.client.secret": "",
}


def convert_handlers(properties: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's options, and ``PROVIDER``, for login callback handlers and AWS's mechanism.

    Raises:
        UnsupportedOptionError: another Java class.
    """
    config = use_oauthbearer(properties)
    for key in HANDLER_KEYS:
        handler = properties.get(key, "")
        name = handler.strip().rpartition(".")[2]
        if name in _HANDLERS:
            config[PROVIDER] = _HANDLERS[name]
        elif name == _AZURE_EXAMPLE and _EVENT_HUBS.search(properties.get("bootstrap.servers", "")):
            config[PROVIDER] = AZURE
        elif name == OIDC_HANDLER and key == HANDLER_KEYS[0]:
            config["sasl.oauthbearer.method"] = "oidc"
        elif name and not (key != HANDLER_KEYS[0] and name == "false"):
            raise UnsupportedOptionError(
                f"Option 'properties.{key}' = '{mask_user_info(handler)}' is not supported: it is a Java class. "
                f"Supported: {OIDC_HANDLER}, for OpenID Connect; {', '.join(_HANDLERS)}, with the Python package of "
                f"the vendor.{did_you_mean(name, _HANDLERS)} For others, set 'properties.{PROVIDER}' = "
                "'module:function' to a Python function that returns tokens.",
                option=f"properties.{key}",
            )
    return {**config, PROVIDER: properties[PROVIDER]} if PROVIDER in properties else config


def use_oauthbearer(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the options that replace AWS's mechanism: Amazon MSK accepts the same logins as OAUTHBEARER."""
    names = [key for key in _MECHANISMS if settings.get(key) == AWS_MECHANISM]
    return {PROVIDER: AWS, **dict.fromkeys(names, "OAUTHBEARER")} if names else {}


def check_provider(config: Mapping[str, str]) -> None:
    """Check ``PROVIDER`` and the options that it conflicts with, without importing the function.

    Args:
        config: librdkafka's configuration. References may be unresolved.

    Raises:
        OptionError: the value is malformed, or is not what creates the tokens.
    """
    value = config.get(PROVIDER)
    if value is None:
        return
    option = f"properties.{PROVIDER}"
    if has_reference(value):
        raise InvalidOptionError(
            f"Option '{option}' must be a literal value, not a reference: it names code.", option=option
        )
    if value not in CLOUDS and not _FUNCTION.fullmatch(value):
        raise InvalidOptionError(
            f"Invalid value '{mask_user_info(value)}' for option '{option}': expected a Python function, "
            f"'module:function', or one of {', '.join(CLOUDS)}.",
            option=option,
        )
    for key, neutral in _OTHER_SOURCES.items():
        if config.get(key, neutral) not in ("", neutral):
            raise ConflictingOptionsError(
                f"Options '{option}' = '{value}' and 'properties.{key}' are mutually exclusive: both decide which "
                "tokens the clients send. Remove one of them.",
                option=option,
            )
    mechanisms = [config[key] for key in _MECHANISMS if key in config]
    if not mechanisms or any(name != "OAUTHBEARER" and not has_reference(name) for name in mechanisms):
        raise ConflictingOptionsError(
            f"Option '{option}' requires 'properties.sasl.mechanism' = 'OAUTHBEARER'.",
            option="properties.sasl.mechanism",
        )


def is_provider_setting(key: str) -> bool:
    """Return whether a setting is for this package and not for librdkafka."""
    return key == PROVIDER or key.startswith(PARAMETERS)


def describe_provider(config: Mapping[str, str]) -> str | None:
    """Return the function or package that creates tokens for a configuration, or None."""
    value = config.get(PROVIDER)
    return value if value is None or value not in PACKAGES else f"the Python package {PACKAGES[value]}"
