"""Parse numbers as java.math.BigDecimal does, and convert DECIMAL columns to the two texts of it that Flink writes."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?)(\d+))?")
_INT32: Final = range(-(2**31), 2**31)


def parse_decimal(text: str) -> Decimal:
    """Return the exact value of a number. Its exponent must fit into 32 bits, with and without the fraction's digits.

    Raises:
        ValueError: BigDecimal does not accept the text. The message says what was expected.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError("expected a number")
    fraction = match[1] or match[2] or ""
    digits = (match[4] or "").lstrip("0") or "0"
    exponent = int(f"{match[3] or ''}{digits}") if len(digits) <= 10 else _INT32.stop
    if exponent not in _INT32 or len(fraction) - exponent not in _INT32:
        raise ValueError("expected a number with an exponent of 32 bits")
    return EXACT.create_decimal(text)


def to_plain_string(array: pa.Array) -> pa.StringArray:
    """Return BigDecimal.toPlainString: all digits of the scale."""
    scale = array.type.scale
    if scale <= 0:
        return array.cast(pa.string())
    # With scale 0, Arrow writes neither point nor exponent.
    digits = _with_scale(pc.abs(array), 0).cast(pa.string())
    padded = pc.ascii_lpad(digits, scale + 1, "0")
    sign = pc.if_else(pc.less(array, pa.scalar(0, array.type)), "-", "")
    integer = pc.utf8_slice_codeunits(padded, 0, -scale)
    return pc.binary_join_element_wise(sign, integer, ".", pc.utf8_slice_codeunits(padded, -scale), "")


def to_stripped_string(array: pa.Array) -> pa.StringArray:
    """Return BigDecimal.stripTrailingZeros().toString(): 1.5 for 1.50, 2.7E-8, 1E+2 for 100."""
    text = array.cast(pa.string())  # BigDecimal.toString, with trailing zeros
    if array.type.scale > 0:
        text = _strip_zeros(text)
    text = pc.if_else(pc.equal(array, pa.scalar(0, array.type)), "0", text)
    ends_with_zero = pc.and_(pc.ends_with(text, "0"), pc.not_equal(text, "0"))
    # A text that ends in 0 is a multiple of ten, unless it has a fraction or an exponent.
    is_multiple_of_ten = pc.and_(ends_with_zero, pc.invert(pc.match_substring_regex(text, "[.E]")))
    if not pc.any(is_multiple_of_ten).as_py():
        return text
    return pc.if_else(is_multiple_of_ten, _with_exponent(text), text)


def _strip_zeros(text: pa.StringArray) -> pa.StringArray:
    has_exponent = pc.match_substring(text, "E")
    stripped = pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
    if not pc.any(has_exponent).as_py():
        return stripped
    mantissa = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])?\.?0*E", r"\1E")
    return pc.if_else(has_exponent, mantissa, stripped)


def _with_exponent(text: pa.StringArray) -> pa.StringArray:
    """Return integers in the form d.dddE+n."""
    digits = pc.ascii_rtrim(text, "0")
    exponent = pc.subtract(pc.binary_length(pc.ascii_ltrim(text, "-")), 1).cast(pa.string())
    mantissa = pc.replace_substring_regex(digits, r"^(-?[0-9])([0-9]+)$", r"\1.\2")
    return pc.binary_join_element_wise(mantissa, "E+", exponent, "")


def _with_scale(array: pa.Array, scale: int) -> pa.Array:
    arrow_type = pa.decimal128(array.type.precision, scale)
    return pa.Array.from_buffers(arrow_type, len(array), array.buffers(), offset=array.offset)
