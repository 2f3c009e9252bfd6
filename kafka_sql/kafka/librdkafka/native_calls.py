"""Calls by address from compiled loops, besides the loads, stores and copies of kafka_sql.runtime.numba_support.

The C functions are given as addresses, because a kernel that holds a ctypes function as a constant cannot be cached.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kafka_sql.runtime.numba_support import compiled, copy, load, store

__all__ = ["call", "call5", "compiled", "copy", "load", "store"]


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
