"""Authenticate with SASL/GSSAPI (Kerberos): RFC 4752 without a security layer.

MIT Kerberos' library (RFC 2744), which is part of each Linux distribution, is called with ctypes. The usual Python
package, gssapi, has no wheels for Linux, so that its users would need a compiler and the headers of Kerberos.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Generator, Mapping
from contextlib import closing
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Final

from kafka_sql.errors import BrokerError, UnsupportedOptionError

_NO_SECURITY_LAYER: Final = 1
_REPLY: Final = bytes((_NO_SECURITY_LAYER, 0, 0, 0))  # the maximum message size is 0 without a layer
_LIBRARIES: Final = ("libgssapi_krb5.so.2", "libgssapi_krb5.dylib")
_INITIATE: Final = 1  # GSS_C_INITIATE
_FLAGS: Final = 2 | 8 | 32  # mutual authentication, messages in sequence, integrity
_CONTINUE_NEEDED: Final = 1
_ERRORS: Final = 0xFFFF0000  # of the status; the other bits are information
_STATUS_KINDS: Final = (1, 2)  # GSS_C_GSS_CODE, GSS_C_MECH_CODE


def check_gssapi() -> None:
    """Check that the Kerberos library is installed.

    Raises:
        UnsupportedOptionError: it is not; the message says what to install.
    """
    if load_library() is None:
        raise UnsupportedOptionError(
            "Option 'properties.sasl.mechanism' = 'GSSAPI' (the default) requires MIT Kerberos' library "
            "libgssapi_krb5. Debian, Ubuntu: apt install libgssapi-krb5-2; Fedora, RHEL: dnf install krb5-libs.",
            option="properties.sasl.mechanism",
        )


def authenticate_gssapi(config: Mapping[str, str], host: str) -> Generator[bytes, bytes, None]:
    """Yield the client's messages to the broker with the principal ``sasl.kerberos.service.name``/host.

    Raises:
        BrokerError: no security context could be established; the message quotes the Kerberos library.
    """
    service = f"{config.get('sasl.kerberos.service.name') or 'kafka'}@{host}"
    principal = config.get("sasl.kerberos.principal") or "kafkaclient"  # librdkafka's default
    try:
        with closing(SecurityContext(service, principal, _credential_store(config, principal))) as context:
            message = context.step()
            while not context.is_complete:
                message = context.step((yield message))
            offer = context.unwrap((yield message))
            if not offer or not offer[0] & _NO_SECURITY_LAYER:
                raise BrokerError(f"Kerberos: {host} requires a security layer, which Kafka does not support.")
            yield context.wrap(_REPLY)
    except GssapiError as e:
        raise BrokerError(
            f"Kerberos: no security context with '{service}': {e}. Check 'properties.sasl.kerberos.*', the keytab or "
            "the ticket (kinit, klist), and that the broker's principal contains the host name of its address."
        ) from e


def _credential_store(config: Mapping[str, str], principal: str) -> dict[str, str]:
    """Return where the library finds the keytab and keeps the tickets; empty for the user's ticket cache."""
    keytab = config.get("sasl.kerberos.keytab")
    if not keytab:
        return {}
    return {
        "client_keytab": keytab,
        "ccache": f"MEMORY:kafka_sql-{zlib.crc32(f'{principal} {keytab}'.encode())}",
    }


class GssapiError(Exception):
    """A function of the library failed; the message is the library's."""


class _Oid(Structure):
    _fields_ = (("length", c_uint32), ("elements", c_char_p))


class _Buffer(Structure):
    _fields_ = (("length", c_size_t), ("value", c_void_p))


class _StoreElement(Structure):
    _fields_ = (("key", c_char_p), ("value", c_char_p))


class _Store(Structure):
    _fields_ = (("count", c_uint32), ("elements", POINTER(_StoreElement)))


def _oid(elements: bytes) -> _Oid:
    return _Oid(len(elements), elements)


_KRB5: Final = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")  # 1.2.840.113554.1.2.2
_HOSTBASED_SERVICE: Final = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04")  # service@host
_PRINCIPAL: Final = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01")


@cache
def load_library() -> ctypes.CDLL | None:
    """Return the library; None if it is not installed."""
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _library() -> ctypes.CDLL:
    library = load_library()
    assert library is not None  # see ``check_gssapi``
    return library


class SecurityContext:
    """A client's security context with a service.

    Args:
        service: ``service@host``.
        principal: of the keytab; ignored without a keytab.
        store: MIT Kerberos' credential store, such as ``client_keytab`` and ``ccache``; empty for the ticket cache of
            the user.

    Raises:
        GssapiError: a name is invalid, or there are no credentials; by the methods, the context cannot be established
            or has expired, or a message was changed or is not the next one.
    """

    def __init__(self, service: str, principal: str, store: Mapping[str, str]) -> None:
        self._context, self._credentials, self._target = c_void_p(), c_void_p(), c_void_p()
        self.is_complete = False
        try:
            self._target = _import_name(service, _HOSTBASED_SERVICE)
            if store:
                self._credentials = _acquire(principal, store)
        except GssapiError:
            self.close()
            raise

    def step(self, token: bytes = b"") -> bytes:
        """Return the next message to the service, which can be empty."""
        result = _Buffer()
        status = _call(
            "gss_init_sec_context",
            self._credentials,
            byref(self._context),
            self._target,
            byref(_KRB5),
            c_uint32(_FLAGS),
            c_uint32(0),  # the default lifetime
            None,
            byref(_buffer(token)),
            None,
            byref(result),
            None,
            None,
        )
        self.is_complete = not status & _CONTINUE_NEEDED
        return _take(result)

    def unwrap(self, message: bytes) -> bytes:
        """Return the content of the service's message."""
        result = _Buffer()
        _call("gss_unwrap", self._context, byref(_buffer(message)), byref(result), None, None)
        return _take(result)

    def wrap(self, content: bytes) -> bytes:
        """Return a message with integrity, but without encryption."""
        result = _Buffer()
        _call("gss_wrap", self._context, c_int(0), c_uint32(0), byref(_buffer(content)), None, byref(result))
        return _take(result)

    def close(self) -> None:
        """Free the library's memory."""
        library, minor = _library(), c_uint32()
        library.gss_delete_sec_context(byref(minor), byref(self._context), None)
        library.gss_release_cred(byref(minor), byref(self._credentials))
        library.gss_release_name(byref(minor), byref(self._target))


def _import_name(name: str, kind: _Oid) -> c_void_p:
    result = c_void_p()
    _call("gss_import_name", byref(_buffer(name.encode())), byref(kind), byref(result))
    return result


def _acquire(principal: str, store: Mapping[str, str]) -> c_void_p:
    """Return credentials of a store (MIT Kerberos, "Credential store extensions")."""
    elements = (_StoreElement * len(store))(*(_StoreElement(k.encode(), v.encode()) for k, v in store.items()))
    result, name = c_void_p(), _import_name(principal, _PRINCIPAL)
    lifetime = c_uint32(0xFFFFFFFF)
    try:
        _call(
            "gss_acquire_cred_from",
            name,
            lifetime,
            None,
            c_int(_INITIATE),
            byref(_Store(len(store), elements)),
            byref(result),
            None,
            None,
        )
    finally:
        _library().gss_release_name(byref(c_uint32()), byref(name))
    return result


def _call(function: str, *arguments: object) -> int:
    """Call a function whose first argument is the minor status, and return its major status."""
    called, minor = _library()[function], c_uint32()
    called.restype = c_uint32
    major = int(called(byref(minor), *arguments))
    if major & _ERRORS:
        raise GssapiError(": ".join(dict.fromkeys(_messages((major, minor.value)))))
    return major


def _messages(statuses: tuple[int, int]) -> list[str]:
    """Return the messages of the major and the minor status."""
    texts = []
    for status, kind in zip(statuses, _STATUS_KINDS, strict=True):
        more, text = c_uint32(), _Buffer()
        if status:
            _library().gss_display_status(
                byref(c_uint32()), c_uint32(status), c_int(kind), byref(_KRB5), byref(more), byref(text)
            )
            texts.append(_take(text).decode(errors="replace"))
    return texts


def _buffer(content: bytes) -> _Buffer:
    memory = ctypes.create_string_buffer(content, len(content))
    buffer = _Buffer(len(content), ctypes.cast(memory, c_void_p))
    buffer.memory = memory  # freed with the buffer
    return buffer


def _take(buffer: _Buffer) -> bytes:
    """Return the content of a buffer that the library allocated, and free it."""
    content = ctypes.string_at(buffer.value, buffer.length) if buffer.value else b""
    _library().gss_release_buffer(byref(c_uint32()), byref(buffer))
    return content
