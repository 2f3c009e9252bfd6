"""Call C functions by address from compiled loops.

Functions are passed as addresses: numba cannot cache a kernel that has a ctypes function as a constant.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call(typing: Any, function: Any, first: Any, second: Any, third: Any) -> Any:
    """Call a C function ``int64 f(int64, int64, int64)`` by its address; the ABI lets a callee ignore arguments."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function_type = ir.FunctionType(word, [word] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function_type), arguments[1:])

    return types.int64(function, first, second, third), code


@intrinsic
def call5(typing: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any, fifth: Any) -> Any:
    """Call a C function with five arguments; see ``call``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function_type = ir.FunctionType(word, [word] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function_type), arguments[1:])

    return types.int64(function, first, second, third, fourth, fifth), code
