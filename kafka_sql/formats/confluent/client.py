"""Request schemas from a schema registry, and register them (Confluent's REST API, version 1 of its media type)."""

from __future__ import annotations

import functools
import random
import threading
import time
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx

from kafka_sql.errors import IncompatibleSchemaError, InvalidOptionError, SchemaNotFoundError, SchemaRegistryError
from kafka_sql.formats.confluent.options import SCHEMA_TYPE_NAMES, RegistrySettings
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.confluent.tls import ssl_context
from kafka_sql.options import allow_lists
from kafka_sql.runtime.bounded_http import ResponseTooLargeError, create_client, send_request
from kafka_sql.runtime.continuous_task import is_continuous_task

T = TypeVar("T")

RETRY_TIMEOUT: Final = 60.0  # seconds for which a failed request is retried
# seconds for which it is retried if the registry has not responded to this client before, except for tasks of
# continuous queries; Confluent's client retries three times, after 1, 2 and 4 s (max.retries, retries.wait.ms)
_FIRST_TIMEOUT: Final = 5.0
_TIMEOUT: Final = 10.0  # seconds to wait for a connection, and for the next bytes of a response
_BACKOFF: Final = 0.1  # seconds before the first retry; doubled up to the maximum
_MAX_BACKOFF: Final = 2.0
_RETRIABLE_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_RESPONSE_SIZE: Final = 64 << 20
_MAX_MESSAGE: Final = 2000  # characters of a registry's message in errors
_MAX_REFERENCES: Final = 1000
_MAX_SHOWN: Final = 200  # characters of a chain of references in errors
_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_Auth = tuple[str, str] | None  # user and password


def cached_registry(settings: RegistrySettings) -> SchemaRegistry:
    """Return this process's client for the settings, which caches schemas. A new one is created if a key store file has
    changed.
    """
    return _registry(settings, tuple(map(allow_lists.file_state, (settings.truststore, settings.keystore))))


@functools.lru_cache(maxsize=64)
def _registry(settings: RegistrySettings, _: tuple[tuple[int, int, int] | None, ...]) -> SchemaRegistry:
    return SchemaRegistry(settings)


class SchemaRegistry:
    """A schema registry. Schemas are cached by id, because the schema of an id never changes.

    Attributes:
        schema_type_name: the type of its schemas, for errors.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        """
        Raises:
            InvalidOptionError: a URL is malformed or not allowed.
            KeyStoreError: a key store or trust store cannot be read.
        """
        headers = {"Accept": _MEDIA_TYPE, **dict(settings.headers)}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        uses_tls = any(url.startswith("https:") for url in settings.urls)
        self._format = settings.format
        self.schema_type_name = SCHEMA_TYPE_NAMES[settings.schema_type]
        self._urls, self._current, self._schema_type = _parse_urls(settings), 0, settings.schema_type
        self._has_responded = False
        self._client = create_client(ssl_context(settings) if uses_tls else False, _TIMEOUT, headers)
        self._schemas: dict[int, RegisteredSchema] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def schema_by_id(self, schema_id: int) -> RegisteredSchema:
        """Return the schema of an id.

        Raises:
            SchemaNotFoundError: the id is unknown, or its schema is of another type.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        with self._lock:
            if schema_id not in self._schemas:
                resource = f"schema id {schema_id}"
                response = self._request("GET", f"/schemas/ids/{schema_id}", resource)
                self._schemas[schema_id] = self._resolve(schema_id, response, resource)
            return self._schemas[schema_id]

    def latest_schema(self, subject: str) -> RegisteredSchema:
        """Return the latest schema of a subject.

        Raises:
            SchemaNotFoundError: the subject has no schema, or one of another type.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        resource = f"subject '{subject}'"
        response = self._request("GET", f"/subjects/{_quote(subject)}/versions/latest", resource)
        return self._resolve(_require_field(response, "id", int, resource), response, resource)

    def register(self, subject: str, text: str) -> int:
        """Register a schema under a subject, unless the subject has it; return its id.

        Raises:
            IncompatibleSchemaError: the schema is incompatible with earlier ones of the subject.
            SchemaRegistryError: the registry rejects it for another reason, or is unavailable.
        """
        return self._request_id(subject, text, f"/subjects/{_quote(subject)}/versions")

    def look_up_id(self, subject: str, text: str) -> int:
        """Return the id of a schema that the subject has.

        Raises:
            SchemaNotFoundError: the subject does not have it.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        return self._request_id(subject, text, f"/subjects/{_quote(subject)}")

    def check_compatibility(self, subject: str, text: str) -> str:
        """Check that a schema is compatible with the latest one of a subject, without registering it.

        In a transitive compatibility mode, earlier schemas of the subject can still reject it. Returns a sentence.

        Raises:
            IncompatibleSchemaError: it is incompatible.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        path = f"/compatibility/subjects/{_quote(subject)}/versions/latest"
        try:
            self.latest_schema(subject)
        except SchemaNotFoundError:
            return f"subject '{subject}' has no schema yet; writing the first row registers the table's schema"
        body = {"schema": text, "schemaType": self._schema_type}
        response = self._request("POST", path, f"subject '{subject}'", body)
        if not response.get("is_compatible", False):
            raise IncompatibleSchemaError(
                f"The table's schema is incompatible with the latest schema of subject '{subject}'. Change the "
                "columns, or the subject's compatibility mode.",
                subject=subject,
            )
        return f"the table's schema is compatible with the latest schema of subject '{subject}'"

    def _request_id(self, subject: str, text: str, path: str) -> int:
        with self._lock:
            if (path, text) not in self._ids:
                resource, body = f"subject '{subject}'", {"schema": text, "schemaType": self._schema_type}
                self._ids[path, text] = _require_field(self._request("POST", path, resource, body), "id", int, resource)
            return self._ids[path, text]

    def _resolve(self, schema_id: int, response: dict[str, Any], resource: str) -> RegisteredSchema:
        """Return the schema in a response, with the schemas that it references."""
        references: dict[str, str] = {}
        schema = _require_field(response, "schema", str, resource)
        self._fetch_references(response, resource, references)
        return RegisteredSchema(schema_id, schema, tuple(references.items()))

    def _fetch_references(self, response: dict[str, Any], resource: str, references: dict[str, str]) -> None:
        """Add the schemas that a schema references, by name, each after those that it references itself.

        This is a loop, because a chain of references can be longer than Python's recursion limit allows.
        """
        deadline, size = time.monotonic() + RETRY_TIMEOUT, 0
        requested_names = set[str]()
        # Schemas whose references are being fetched, the innermost last: name, text, pending references, and resource
        chain = [("", "", iter(self._references(response, resource)), resource)]
        while chain:
            name, text, pending_references, resource = chain[-1]
            reference = next(pending_references, None)
            if reference is None:
                chain.pop()
                if chain:
                    references[name] = text
                continue
            name = _require_field(reference, "name", str, resource)
            if name in requested_names:
                continue
            requested_names.add(name)
            if len(requested_names) > _MAX_REFERENCES:
                raise SchemaRegistryError(f"The schema of {resource} refers to more than {_MAX_REFERENCES} others.")
            subject = _require_field(reference, "subject", str, resource)
            version = _require_field(reference, "version", int, resource)
            referenced = f"{resource}, reference '{name}'" if len(resource) < _MAX_SHOWN else resource
            path = f"/subjects/{_quote(subject)}/versions/{version}"
            response = self._request("GET", path, referenced, deadline=deadline)
            text = _require_field(response, "schema", str, referenced)
            size += len(text)
            if size > _MAX_RESPONSE_SIZE:
                raise SchemaRegistryError(
                    f"The schema of {resource} refers to others with more than {_MAX_RESPONSE_SIZE:,} characters in "
                    "total."
                )
            chain.append((name, text, iter(self._references(response, referenced)), referenced))

    def _references(self, response: dict[str, Any], resource: str) -> list[Any]:
        """Return the references of the schema in a response."""
        schema_type = response.get("schemaType") or "AVRO"
        if schema_type != self._schema_type:
            actual = schema_type if isinstance(schema_type, str) and schema_type in SCHEMA_TYPE_NAMES else "unknown"
            raise SchemaNotFoundError(f"The schema of {resource} is of type {actual}, expected {self._schema_type}.")
        return _require_field(response, "references", list, resource) if response.get("references") else []

    def _request(
        self, method: str, path: str, resource: str, body: dict[str, Any] | None = None, deadline: float | None = None
    ) -> dict[str, Any]:
        """Send a request to the registry's URLs in turn until one responds.

        Args:
            resource: what is requested, for errors: ``subject 'orders-value'``.
            deadline: until when, in seconds of ``time.monotonic``; by default RETRY_TIMEOUT from now. A registry that
                has not responded yet is given less time.
        """
        start = time.monotonic()
        deadline = start + RETRY_TIMEOUT if deadline is None else deadline
        backoff, attempts = _BACKOFF, 0
        while True:
            url, auth = self._urls[self._current]
            try:
                response = send_request(
                    self._client, method, url + path, deadline, _MAX_RESPONSE_SIZE, json=body, auth=auth
                )
                self._has_responded = True
                if response.status_code not in _RETRIABLE_STATUSES:
                    return self._parse_response(response, url, resource)
                reason = f"{response.status_code} {response.reason_phrase}"
            except ResponseTooLargeError:
                raise SchemaRegistryError(
                    f"Invalid schema registry response for {resource}: it is larger than {_MAX_RESPONSE_SIZE:,} bytes. "
                    f"Check the option '{self._format}.url'."
                ) from None
            except (httpx.TransportError, httpx.DecodingError) as e:
                if "CERTIFICATE" in str(e).upper() or "SSL" in str(e).upper():
                    raise SchemaRegistryError(
                        f"No TLS connection to the schema registry {url}: {e}. Check the options '{self._format}.url' "
                        f"and '{self._format}.ssl.truststore.location'.",
                        url=url,
                    ) from e
                reason = str(e) or type(e).__name__
            self._current, attempts = (self._current + 1) % len(self._urls), attempts + 1
            now, is_first = time.monotonic(), not (self._has_responded or is_continuous_task())
            has_tried_all = attempts >= len(self._urls)
            if now + backoff > deadline or (is_first and has_tried_all and now + backoff > start + _FIRST_TIMEOUT):
                urls = ", ".join(url for url, _ in self._urls)
                raise SchemaRegistryError(
                    f"The schema registry did not respond within {now - start:.1f} s to a request for {resource}: "
                    f"{urls}: {reason}. Check that it is running, and the option '{self._format}.url'.",
                    url=url,
                )
            if attempts % len(self._urls) == 0:  # each URL has failed once more
                time.sleep(backoff * random.uniform(0.5, 1))
                backoff = min(2 * backoff, _MAX_BACKOFF)

    def _parse_response(self, response: httpx.Response, url: str, resource: str) -> dict[str, Any]:
        """Return the JSON object of a response."""
        registry, reason = f"The schema registry {url}", f"{response.status_code} {response.reason_phrase}"
        try:
            document = response.json()
        except (ValueError, RecursionError):
            document = None
        if response.is_success:
            if not isinstance(document, dict):
                raise SchemaRegistryError(
                    f"Invalid schema registry response for {resource} from {url}: not a JSON object. "
                    f"Check the option '{self._format}.url'.",
                    url=url,
                )
            return document
        match document:  # another server's document is not shown
            case {"error_code": int(code), "message": str(message)}:
                reason = f"{code}: {message[:_MAX_MESSAGE]}"
        if response.status_code in (401, 403):
            raise SchemaRegistryError(
                f"{registry} rejected the credentials for {resource} ({reason}). Check "
                f"'{self._format}.basic-auth.user-info' or '{self._format}.bearer-auth.token'.",
                url=url,
            )
        if response.status_code == 409:
            raise IncompatibleSchemaError(
                f"{registry} rejected the table's schema for {resource}: it is incompatible with an earlier schema "
                f"({reason}). Change the columns, or the subject's compatibility mode.",
                url=url,
            )
        if response.status_code == 404:
            raise SchemaNotFoundError(f"{registry}: {resource} not found ({reason}).", url=url)
        raise SchemaRegistryError(f"{registry} rejected a request for {resource} ({reason}).", url=url)


def _require_field(document: Any, key: str, type: type[T], resource: str) -> T:
    """Return a field of a response."""
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, type):
        raise SchemaRegistryError(
            f"Invalid schema registry response for {resource}: '{key}' is missing or malformed. Check the format's "
            "option 'url'."
        )
    return value


def _quote(subject: str) -> str:
    """Return a subject, percent-encoded as a segment of a URL's path."""
    if any("\ud800" <= character <= "\udfff" for character in subject):
        raise SchemaRegistryError(f"Invalid subject {subject!a}: it contains a surrogate.", subject=subject)
    quoted = quote(subject, safe="")
    return quoted.replace(".", "%2E") if subject in (".", "..") else quoted  # as a segment, these mean another path


def _parse_urls(settings: RegistrySettings) -> list[tuple[str, _Auth]]:
    """Return each URL without user and password, and the credentials to use. httpx would log them with the URL.

    Raises:
        InvalidOptionError: a URL is malformed or not allowed. The error does not quote it, because it may contain a
            password.
    """
    option, (option_user, _, option_password) = f"{settings.format}.url", settings.user.partition(":")
    parsed: list[tuple[str, _Auth]] = []
    for text in settings.urls:
        try:
            url = httpx.URL(text)
        except httpx.InvalidURL:
            raise InvalidOptionError(
                f"Invalid value for option '{option}': expected 'http://host:port' or 'https://host:port', with "
                "special characters of user and password percent-encoded.",
                option=option,
            ) from None
        url_without_user = str(url.copy_with(username=None, password=None)).rstrip("/")
        if not allow_lists.is_allowed_url(url_without_user):
            raise InvalidOptionError(f"Option '{option}': {allow_lists.URLS} does not allow a URL.", option=option)
        user, password = (option_user, option_password) if option_user else (url.username, url.password)
        parsed.append((url_without_user, (user, password) if user or password else None))
    return parsed
