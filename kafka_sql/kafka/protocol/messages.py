"""Encode requests and read responses by their ``layouts``."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.layouts import APIS, Field

_NUMBERS: Final = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uuid": "16s"}


class Request(NamedTuple):
    """A request in every version that this package supports.

    Attributes:
        oldest, latest: the versions.
        encode: returns the body in a version, given the version and whether it is flexible.
    """

    key: ApiKey
    oldest: int
    latest: int
    encode: Callable[[int, bool], bytes]


def make_request(api: ApiKey, oldest: int | None = None, **values: Any) -> Request:
    """Return a request with these values of its fields. An array of structs is a sequence of mappings.

    Args:
        oldest: the oldest version that has what the request needs; None for any.
    """

    def encode(version: int, flexible: bool) -> bytes:
        return _request(api, version).encode(values, flexible)

    return Request(api, APIS[api].oldest if oldest is None else oldest, APIS[api].latest, encode)


def read_response(response: Reader, api: ApiKey) -> dict[str, Any]:
    """Return the values of a response's fields. An array of structs is a list of dicts.

    Raises:
        MalformedResponse: the response violates the layout.
    """
    values = _response(api, response.version).read(response)
    response.throttle(values.get("throttle_time_ms", 0))
    return values


class _Struct:
    """The layout of a struct in one version: runs of numbers, which are encoded and read at once, and other fields."""

    def __init__(self, fields: Sequence[Field], version: int) -> None:
        present = [field for field in fields if field.since <= version <= field.until]
        self._defaults = {field.name: field.default for field in present if field.default is not None}
        self._parts = list[tuple[list[str], struct.Struct | _Type, bool]]()
        for is_run, run in itertools.groupby(present, lambda field: not field.is_array and field.type in _NUMBERS):
            if is_run:
                group = list(run)
                layout = struct.Struct(">" + "".join(_NUMBERS[field.type] for field in group))
                self._parts.append(([field.name for field in group], layout, False))
            else:
                self._parts += (([field.name], _type(field, version), field.is_array) for field in run)

    def encode(self, values: Mapping[str, Any], flexible: bool) -> bytes:
        encoded, values = b"", {**self._defaults, **values}
        for names, part, is_array in self._parts:
            if isinstance(part, struct.Struct):
                encoded += part.pack(*map(values.__getitem__, names))
            elif is_array:
                encoded += codec.array((part.encode(item, flexible) for item in values[names[0]]), flexible)
            else:
                encoded += part.encode(values[names[0]], flexible)
        return encoded + codec.tags(flexible)

    def read(self, response: Reader) -> dict[str, Any]:
        values = dict[str, Any]()
        for names, part, is_array in self._parts:
            if isinstance(part, struct.Struct):
                values.update(zip(names, response.numbers(part), strict=True))
            elif is_array:
                values[names[0]] = response.array(functools.partial(part.read, response))
            else:
                values[names[0]] = part.read(response)
        response.tags()
        return values


class _Type(NamedTuple):
    encode: Callable[[Any, bool], bytes]
    read: Callable[[Reader], Any]


def _number(layout: str) -> _Type:
    return _Type(lambda value, flexible: codec.pack(layout, value), lambda response: response.number(layout))


def _type(field: Field, version: int) -> _Type:
    if field.type:
        return _TYPES[field.type]
    layout = _Struct(field.fields, version)
    return _Type(layout.encode, layout.read)


@functools.cache
def _request(api: ApiKey, version: int) -> _Struct:
    return _Struct(APIS[api].request, version)


@functools.cache
def _response(api: ApiKey, version: int) -> _Struct:
    return _Struct(APIS[api].response, version)


_TYPES: Final = {
    "string": _Type(codec.string, lambda response: str(response.string())),  # a null host would be this machine
    "nullable_string": _Type(codec.string, Reader.string),
    "bytes": _Type(codec.data, Reader.view),
    **{name: _number(layout) for name, layout in _NUMBERS.items()},
}
