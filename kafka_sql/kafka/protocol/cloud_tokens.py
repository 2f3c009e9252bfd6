"""Get tokens for the Kafka services of AWS, Google and Azure through the vendors' Python packages.

The packages find the credentials of the machine, such as variables, files and metadata services, in their usual ways.
They are optional: ``pip install 'kafka-sql[aws]'``, ``[gcp]`` or ``[azure]``.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import timezone
from typing import Any, Final

from kafka_sql.errors import AuthenticationError, KafkaSqlError, MissingOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.token_providers import AWS, AZURE, GOOGLE, PACKAGES, PARAMETERS, PROVIDER
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError

_OPTION: Final = f"properties.{PROVIDER}"
# in the names of brokers of Amazon MSK: .kafka.REGION.amazonaws.com, .kafka-serverless.REGION.amazonaws.com
_MSK_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.(?:api\.)?(?:amazonaws\.com|aws)\b")
_SESSION_NAME: Final = "kafka_sql"
_GOOGLE_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
# class names of the exceptions of the packages' HTTP clients, after which a retry may help
_TRANSIENT: Final = frozenset(
    ("HTTPClientError", "TransportError", "ServiceRequestError", "ServiceResponseError", "ConnectionError", "Timeout")
)
_ADVICE: Final[Mapping[str, str]] = {
    AWS: "Check the credentials of this machine (aws sts get-caller-identity), and the aws* options of "
    "'properties.sasl.jaas.config'",
    GOOGLE: "Check the application default credentials of this machine: GOOGLE_APPLICATION_CREDENTIALS, or the service "
    "account of the virtual machine or the pod",
    AZURE: "Check the credentials of this machine that DefaultAzureCredential finds: AZURE_CLIENT_ID, AZURE_TENANT_ID "
    "and AZURE_CLIENT_SECRET, the workload identity, or the managed identity",
}


def get_cloud_token(cloud: str, config: Mapping[str, str]) -> tuple[str, float]:
    """Return a new token, and when it expires, in seconds since 1970.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.

    Raises:
        UnsupportedOptionError: the package is not installed.
        MissingOptionError: AWS's region is not known.
        AuthenticationError: the package found no credentials, or they were rejected. Its message is not quoted: it may
            contain a response.
        TokenEndpointUnavailableError: a server did not respond.
    """
    try:
        return _CLOUDS[cloud](config)
    except KafkaSqlError:
        raise
    except ImportError:
        raise UnsupportedOptionError(
            f"Option '{_OPTION}' = '{cloud}' needs the Python package {PACKAGES[cloud]} on the driver and on all "
            f"executors: pip install 'kafka-sql[{cloud}]'.",
            option=_OPTION,
        ) from None
    except Exception as e:  # noqa: BLE001  # each package has its own exceptions
        names = {base.__name__ for base in type(e).__mro__}
        message = f"Option '{_OPTION}' = '{cloud}': {PACKAGES[cloud]} raised {type(e).__name__}. {_ADVICE[cloud]}"
        if names & _TRANSIENT:
            raise TokenEndpointUnavailableError(message) from None
        raise AuthenticationError(f"{message}.") from None


def _aws_token(config: Mapping[str, str]) -> tuple[str, float]:
    """Return a signed request, as aws-msk-iam-auth for Java does with the same options of the JAAS string."""
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
    from botocore.credentials import CredentialProvider
    from botocore.exceptions import ProfileNotFound

    options = {key.removeprefix(PARAMETERS): value for key, value in config.items() if key.startswith(PARAMETERS)}
    try:
        region = _aws_region(config, options.get("profile"))
        credentials = _aws_credentials(options, region)
    except ProfileNotFound:
        raise AuthenticationError(
            "Option 'properties.sasl.jaas.config': this machine has no AWS profile with the name of awsProfileName."
        ) from None
    if credentials is None:
        raise AuthenticationError(f"Option '{_OPTION}' = '{AWS}': no credentials were found. {_ADVICE[AWS]}.")

    class Provider(CredentialProvider):  # type: ignore[misc]
        def load(self) -> object:
            return credentials

    token, milliseconds = MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(region, Provider())
    return token, milliseconds / 1000


def _aws_region(config: Mapping[str, str], profile: str | None) -> str:
    match = _MSK_REGION.search(config.get("bootstrap.servers", ""))
    region = match[1] if match else os.environ.get("AWS_REGION")
    if not region:
        import botocore.session

        region = botocore.session.Session(profile=profile).get_config_variable("region")
    if not region:
        raise MissingOptionError(
            f"Option '{_OPTION}' = '{AWS}': the names of the brokers do not contain the region. Set the variable "
            "AWS_REGION on the driver and on all executors.",
            option="properties.bootstrap.servers",
        )
    return str(region)


def _aws_credentials(options: Mapping[str, str], region: str) -> Any:
    """Return botocore's credentials of a role, or else of a profile or the machine; None if there are none."""
    if "role-arn" not in options:
        import botocore.session

        return botocore.session.Session(profile=options.get("profile")).get_credentials()
    import boto3
    from botocore.credentials import Credentials

    keys = ("access-key-id", "secret-access-key", "session-token")
    session = boto3.Session(*(options.get(key) for key in keys), profile_name=options.get("profile"))
    client = session.client("sts", region_name=options.get("sts-region") or region)
    request = {"RoleArn": options["role-arn"], "RoleSessionName": options.get("role-session-name", _SESSION_NAME)}
    if "role-external-id" in options:
        request["ExternalId"] = options["role-external-id"]
    assumed = client.assume_role(**request)["Credentials"]
    return Credentials(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"])


def _google_token(_: Mapping[str, str]) -> tuple[str, float]:
    """Return an access token in the envelope that Google's brokers expect (GcpLoginCallbackHandler)."""
    import google.auth
    from google.auth.transport.requests import Request

    credentials: Any = google.auth.default(scopes=[_GOOGLE_SCOPE])[0]
    credentials.refresh(Request())
    expires_at = credentials.expiry.replace(tzinfo=timezone.utc).timestamp()
    claims = {
        "exp": expires_at,
        "iat": time.time(),
        "iss": "Google",
        "scope": "kafka",
        "sub": getattr(credentials, "service_account_email", None) or getattr(credentials, "account", ""),
    }
    header = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    parts = (json.dumps(header), json.dumps(claims), credentials.token)
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts), expires_at


def _azure_token(config: Mapping[str, str]) -> tuple[str, float]:
    """Return a token of Microsoft Entra ID for a namespace of Event Hubs, or for 'sasl.oauthbearer.scope'."""
    from azure.identity import DefaultAzureCredential

    server = config["bootstrap.servers"].split(",")[0].strip().rpartition("://")[2]
    scope = config.get("sasl.oauthbearer.scope") or f"https://{server.rpartition(':')[0] or server}/.default"
    client_id = config.get("sasl.oauthbearer.client.id")
    identities: dict[str, Any] = {}
    if client_id:
        identities = {"managed_identity_client_id": client_id, "workload_identity_client_id": client_id}
    with DefaultAzureCredential(**identities) as credential:
        token = credential.get_token(scope)
    return token.token, float(token.expires_on)


_CLOUDS: Final[Mapping[str, Callable[[Mapping[str, str]], tuple[str, float]]]] = {
    AWS: _aws_token,
    GOOGLE: _google_token,
    AZURE: _azure_token,
}
