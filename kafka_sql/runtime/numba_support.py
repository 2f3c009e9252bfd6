"""Loops that numba compiles, at first use (the result is kept in its cache), and what they are made of: loads, stores
and copies by address.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE: Final = ir.IntType(8).as_pointer()
_NJIT: Final[Any] = numba.njit  # whose types do not know all of its options
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """numba.njit, cached: beside the module, else in the user's cache folder, else in one of our own."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # "cannot cache function: no locator available": an executor may have no home
        folder = private_folder(tempfile.gettempdir())
        if folder is None:
            return cast(F, numba.njit(nogil=True)(function))
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
        return cast(F, numba.njit(nogil=True, cache=True)(function))


def private_folder(parent: str) -> str | None:
    """A folder of this user's alone; None where there can be none. Who could write a cache could run code."""
    folder = os.path.join(parent, f"kafka_sql-{os.getuid()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError:
        return None
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if own else None


def part(function: F) -> F:
    """The same for what only other loops call, which costs less to compile."""
    return cast(F, _NJIT(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def inlined(function: F) -> F:
    """A part that is put into its callers: for what is called for each value and gives several."""
    options = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, _NJIT(nogil=True, **options)(function))


@intrinsic
def load(typing: Any, address: Any, kind: Any) -> Any:
    """The value of type ``kind`` at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(kind.dtype).as_pointer())
        return builder.load(pointer)

    return kind.dtype(address, kind), code


@intrinsic
def store(typing: Any, address: Any, value: Any) -> Any:
    """Write ``value`` at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(value).as_pointer())
        builder.store(arguments[1], pointer)
        return context.get_dummy_value()

    return types.void(address, value), code


@intrinsic
def copy(typing: Any, target: Any, source: Any, size: Any) -> Any:
    """memcpy between addresses."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, of = (builder.inttoptr(a, _BYTE) for a in arguments[:2])
        cgutils.raw_memcpy(builder, to, of, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(target, source, size), code


@intrinsic
def trailing_zeros(typing: Any, word: Any) -> Any:
    """How many of the lowest bits of a word that is not 0 are 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def high_product(typing: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two words."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), code
