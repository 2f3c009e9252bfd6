"""A schema registry by its REST interface (Confluent's API, version 1 of its media type)."""

from __future__ import annotations

import functools
import random
import threading
import time
from typing import Any, Final, TypeVar

import httpx

from kafka_sql.errors import IncompatibleSchemaError, SchemaNotFoundError, SchemaRegistryError
from kafka_sql.formats.confluent.options import SCHEMA_TYPE_NAMES, RegistrySettings
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.confluent.tls import ssl_context
from kafka_sql.options import allowed_paths

T = TypeVar("T")

RETRY_TIMEOUT: Final = 60.0  # seconds for which a registry that does not answer is asked again
_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_TEMPORARY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_TIMEOUT: Final = 10.0
_LARGEST: Final = 64 << 20  # bytes of an answer
_MOST: Final = 1000  # schemas that one refers to
_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


def cached_registry(settings: RegistrySettings) -> SchemaRegistry:
    """The registry of these settings: one in a process, so that a schema is fetched once; and another where a store's
    file has been replaced.
    """
    return _registry(settings, tuple(map(allowed_paths.file_state, (settings.truststore, settings.keystore))))


def clear_cache() -> None:
    """Let the next question of each go to the registry anew."""
    _registry.cache_clear()


@functools.lru_cache(maxsize=64)
def _registry(settings: RegistrySettings, _: tuple[tuple[int, int, int] | None, ...]) -> SchemaRegistry:
    return SchemaRegistry(settings)


class SchemaRegistry:
    """A registry; what it has said of ids is kept, as an id's schema never changes.

    Attributes:
        kind: of its schemas, as errors say it.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        """
        Raises:
            InvalidOptionError: a key store cannot be read.
        """
        headers = {"Accept": _MEDIA_TYPE, **dict(settings.headers)}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        user, _, password = settings.user.partition(":")
        secure = any(url.startswith("https:") for url in settings.urls)
        self.kind = SCHEMA_TYPE_NAMES[settings.schema_type]
        self._urls, self._first, self._kind = settings.urls, 0, settings.schema_type
        self._client = httpx.Client(
            headers=headers,
            auth=(user, password) if user else None,
            verify=ssl_context(settings) if secure else False,
            timeout=_TIMEOUT,
            limits=httpx.Limits(max_keepalive_connections=0),  # it is asked a few times, and then long not
        )
        self._schemas: dict[int, RegisteredSchema] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def schema_by_id(self, number: int) -> RegisteredSchema:
        """The schema of an id.

        Raises:
            SchemaNotFoundError: there is none, or it is of another kind.
            SchemaRegistryError: the registry does not answer, or refuses the credentials.
        """
        with self._lock:
            if number not in self._schemas:
                answer = self._ask("GET", f"/schemas/ids/{number}", f"schema id {number}")
                self._schemas[number] = self._registered(number, answer, f"schema id {number}")
            return self._schemas[number]

    def latest_schema(self, subject: str) -> RegisteredSchema:
        """A subject's latest schema.

        Raises:
            SchemaRegistryError: as in ``schema``.
        """
        what = f"subject '{subject}'"
        answer = self._ask("GET", f"/subjects/{_quoted(subject)}/versions/latest", what)
        return self._registered(_field(answer, "id", int, what), answer, what)

    def register(self, subject: str, text: str) -> int:
        """Register a schema under a subject, which does nothing where it is there; its id.

        Raises:
            IncompatibleSchemaError: the subject does not allow it beside its others.
            SchemaRegistryError: the registry refuses it otherwise, or does not answer.
        """
        return self._id(subject, text, f"/subjects/{_quoted(subject)}/versions")

    def check_compatibility(self, subject: str, text: str) -> str:
        """Whether a subject would take a schema, in words; nothing is registered.

        Raises:
            IncompatibleSchemaError: it would not.
            SchemaRegistryError: the registry does not answer, or refuses the credentials.
        """
        path = f"/compatibility/subjects/{_quoted(subject)}/versions/latest"
        try:
            self.latest_schema(subject)
        except SchemaNotFoundError:
            return f"subject '{subject}' has no schema yet; the first row registers the table's"
        answer = self._ask("POST", path, f"subject '{subject}'", {"schema": text, "schemaType": self._kind})
        if not answer.get("is_compatible", False):
            raise IncompatibleSchemaError(
                f"The table's schema is incompatible with the latest of subject '{subject}'. Change the columns, or "
                "the subject's compatibility."
            )
        return f"subject '{subject}' takes the table's schema beside its latest"

    def look_up_id(self, subject: str, text: str) -> int:
        """The id of a schema that the subject has.

        Raises:
            SchemaRegistryError: it has it not, or the registry does not answer.
        """
        return self._id(subject, text, f"/subjects/{_quoted(subject)}")

    def _id(self, subject: str, text: str, path: str) -> int:
        with self._lock:
            if (path, text) not in self._ids:
                answer = self._ask("POST", path, f"subject '{subject}'", {"schema": text, "schemaType": self._kind})
                self._ids[path, text] = _field(answer, "id", int, f"subject '{subject}'")
            return self._ids[path, text]

    def _registered(self, number: int, answer: dict[str, Any], what: str) -> RegisteredSchema:
        references: dict[str, str] = {}
        self._collect(answer, what, references, set())
        return RegisteredSchema(number, _field(answer, "schema", str, what), tuple(references.items()))

    def _collect(self, answer: dict[str, Any], what: str, found: dict[str, str], begun: set[str]) -> None:
        """The schemas that one refers to, by name; those that they refer to come first."""
        kind = answer.get("schemaType") or "AVRO"
        if kind != self._kind:
            raise SchemaNotFoundError(f"The schema registry's {what} is of type {kind}, expected {self._kind}.")
        for one in _field(answer, "references", list, what) if answer.get("references") else []:
            name = _field(one, "name", str, what)
            if name in begun:
                continue
            begun.add(name)
            if len(begun) > _MOST:
                raise SchemaRegistryError(f"The schema registry's {what} refers to more than {_MOST} others.")
            version = _field(one, "version", int, what)
            path = f"/subjects/{_quoted(_field(one, 'subject', str, what))}/versions/{version}"
            told = f"{what}, reference '{name}'" if len(what) < 200 else what
            other = self._ask("GET", path, told)
            self._collect(other, told, found, begun)
            found[name] = _field(other, "schema", str, told)

    def _ask(self, method: str, path: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One answer, from whichever of the registries gives it, within RETRY_TIMEOUT."""
        deadline, pause, asked = time.monotonic() + RETRY_TIMEOUT, _PAUSE, 0
        while True:
            url = self._urls[self._first]
            try:
                response = self._answer(method, url + path, what, body, deadline)
                if response.status_code not in _TEMPORARY:
                    return self._checked(response, url, what)
                reason = f"{response.status_code} {response.reason_phrase}"
            except (httpx.TransportError, httpx.DecodingError) as e:
                if "CERTIFICATE" in str(e).upper() or "SSL" in str(e).upper():
                    raise SchemaRegistryError(f"No TLS connection to the schema registry {_shown(url)}: {e}.") from e
                reason = str(e) or type(e).__name__
            self._first, asked = (self._first + 1) % len(self._urls), asked + 1
            if time.monotonic() + pause > deadline:
                urls = ", ".join(map(_shown, self._urls))
                raise SchemaRegistryError(
                    f"The schema registry did not answer within {RETRY_TIMEOUT:g} s, asked for {what}: {urls}: "
                    f"{reason}. Is it running, and is the option 'url' right?"
                )
            if asked % len(self._urls) == 0:  # all have been asked: nothing to wait for but time
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _answer(self, method: str, url: str, what: str, body: dict[str, Any] | None, deadline: float) -> httpx.Response:
        """A response that was read as a whole, which is neither endless nor without end."""
        content = bytearray()
        with self._client.stream(method, url, json=body) as response:
            for part in response.iter_bytes():
                content += part
                if len(content) > _LARGEST:
                    raise SchemaRegistryError(
                        f"The schema registry's answer for {what} is of more than {_LARGEST:,} bytes. Is the option "
                        "'url' right?"
                    )
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("its answer does not come to an end")
            return httpx.Response(response.status_code, content=bytes(content))

    def _checked(self, response: httpx.Response, url: str, what: str) -> dict[str, Any]:
        if response.is_success:
            found = _document(response)
            if not isinstance(found, dict):
                raise SchemaRegistryError(
                    f"The schema registry {_shown(url)} answers, asked for {what}, with something else than a JSON "
                    "object. Is the option 'url' right?"
                )
            return found
        try:
            document = _document(response)
            said = f"{document['error_code']}: {document['message']}"
        except (ValueError, KeyError, TypeError):
            said = f"{response.status_code} {response.reason_phrase}"
        if response.status_code in (401, 403):
            raise SchemaRegistryError(
                f"The schema registry {_shown(url)} refused the credentials ({said}), asked for {what}. Check "
                "'basic-auth.user-info' or 'bearer-auth.token'."
            )
        if response.status_code == 409:
            raise IncompatibleSchemaError(
                f"The schema registry {_shown(url)} refused the table's schema for {what}, because it is incompatible "
                f"with an earlier one ({said}). Change the columns, or the subject's compatibility."
            )
        error = SchemaNotFoundError if response.status_code == 404 else SchemaRegistryError
        raise error(f"The schema registry {_shown(url)} has no answer for {what} ({said}).")


def _document(response: httpx.Response) -> Any:
    """What JSON there is; None where it is none."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _field(answer: Any, key: str, kind: type[T], what: str) -> T:
    """A field of an answer.

    Raises:
        SchemaRegistryError: it is not there, or of another type.
    """
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, kind):
        raise SchemaRegistryError(
            f"The schema registry's answer for {what} has no '{key}' as it should be. Is the option 'url' right?"
        )
    return found


def _quoted(name: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise SchemaRegistryError(f"Subject {name!a} is no text.")
    if name in (".", ".."):  # which mean another path
        return name.replace(".", "%2E")
    return str(httpx.URL("http://x/").copy_with(path="/" + name).raw_path[1:].decode()).replace("/", "%2F")


def _shown(url: str) -> str:
    """The address without what stands before an ``@``."""
    return str(httpx.URL(url).copy_with(username=None, password=None))
