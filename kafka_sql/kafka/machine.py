"""What compiled loops are made of: loads, stores, copies and calls by address.

The C functions are given as addresses, because a kernel that holds a ctypes function as a constant cannot be cached.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kafka_sql.compiled import compiled as compiled  # for the modules of kernels here

_BYTE: Final = ir.IntType(8).as_pointer()


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
def call(typing: Any, function: Any, first: Any, second: Any, third: Any) -> Any:
    """Call a C function ``int64 f(int64, int64, int64)`` by its address; the ABI lets a callee ignore arguments."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])

    return types.int64(function, first, second, third), code


@intrinsic
def call5(typing: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any, fifth: Any) -> Any:
    """The same with five arguments."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])

    return types.int64(function, first, second, third, fourth, fifth), code
