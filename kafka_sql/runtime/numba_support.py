"""Define decorators for loops that numba compiles, and their primitives: loads, stores and copies by address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from kafka_sql.runtime.compile_cache import cache_folder

_BYTE: Final = ir.IntType(8).as_pointer()
_NJIT: Final[Any] = numba.njit  # its type stubs lack some options
F = TypeVar("F", bound=Callable[..., Any])


class _LoopCache(FunctionCache):
    """numba's cache, without loading the compiler's declarations of all functions before a loop is loaded.

    They take 0.5 s of CPU time in each Spark worker, and only compiling needs them: numba loads them again before that.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled loop; None if it is not in the cache."""
        rtsys.initialize(target_context)  # the functions that compiled code may call
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def compiled(function: F) -> F:
    """Compile with numba at the first call, and cache the result in ``compile_cache.cache_folder``."""
    folder = cache_folder(function.__module__)
    configured = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = folder or configured  # type: ignore[attr-defined]
    try:  # numba reads the setting here; other packages' functions keep theirs
        loop: Any = numba.njit(nogil=True)(function)
        if folder is not None:
            loop._cache = _LoopCache(function)
        return cast(F, loop)
    finally:
        numba.config.CACHE_DIR = configured  # type: ignore[attr-defined]


def helper(function: F) -> F:
    """Compile a function that only other loops call. It gets no wrapper, so it compiles faster."""
    return cast(F, _NJIT(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def inline_helper(function: F) -> F:
    """Compile a helper that is inlined into its callers: for one that is called per value and returns several."""
    options = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, _NJIT(nogil=True, **options)(function))


@intrinsic
def load(typing: Any, address: Any, value_type: Any) -> Any:
    """Return the value of type ``value_type`` at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(value_type.dtype).as_pointer())
        return builder.load(pointer)

    return value_type.dtype(address, value_type), code


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
    """Copy ``size`` bytes between addresses (memcpy)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target_pointer, source_pointer = (builder.inttoptr(address, _BYTE) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target_pointer, source_pointer, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(target, source, size), code


@intrinsic
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Count the trailing zero bits of a word, which must not be 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def high_product(typing: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the product of two words."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), code
