"""DECIMAL columns as text, in the two forms of java.math.BigDecimal that Flink writes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def to_plain_string(array: pa.Array) -> pa.StringArray:
    """BigDecimal.toPlainString: all digits of the scale."""
    scale = array.type.scale
    if scale <= 0:
        return array.cast(pa.string())
    # The same number without a point, so that there is no exponent either.
    digits = _rescaled(pc.abs(array), 0).cast(pa.string())
    padded = pc.ascii_lpad(digits, scale + 1, "0")
    sign = pc.if_else(pc.less(array, pa.scalar(0, array.type)), "-", "")
    whole = pc.utf8_slice_codeunits(padded, 0, -scale)
    return pc.binary_join_element_wise(sign, whole, ".", pc.utf8_slice_codeunits(padded, -scale), "")


def to_stripped_string(array: pa.Array) -> pa.StringArray:
    """BigDecimal.stripTrailingZeros().toString(): 1.5 for 1.50, 2.7E-8, 1E+2 for 100."""
    text = array.cast(pa.string())  # BigDecimal.toString, but with the zeros at the end
    if array.type.scale > 0:
        text = _without_zeros(text)
    text = pc.if_else(pc.equal(array, pa.scalar(0, array.type)), "0", text)
    tens = pc.and_(pc.ends_with(text, "0"), pc.not_equal(text, "0"))
    # What ends in 0 and is no fraction is a multiple of ten (an exponent may end in 0 too).
    tens = pc.and_(tens, pc.invert(pc.match_substring_regex(text, "[.E]")))
    return pc.if_else(tens, _with_exponent(text), text) if pc.any(tens).as_py() else text


def _without_zeros(text: pa.StringArray) -> pa.StringArray:
    small = pc.match_substring(text, "E")
    stripped = pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
    if not pc.any(small).as_py():
        return stripped
    mantissa = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])?\.?0*E", r"\1E")
    return pc.if_else(small, mantissa, stripped)


def _with_exponent(text: pa.StringArray) -> pa.StringArray:
    """Whole numbers as d.dddE+n."""
    digits = pc.ascii_rtrim(text, "0")
    exponent = pc.subtract(pc.binary_length(pc.ascii_ltrim(text, "-")), 1).cast(pa.string())
    mantissa = pc.replace_substring_regex(digits, r"^(-?[0-9])([0-9]+)$", r"\1.\2")
    return pc.binary_join_element_wise(mantissa, "E+", exponent, "")


def _rescaled(array: pa.Array, scale: int) -> pa.Array:
    t = pa.decimal128(array.type.precision, scale)
    return pa.Array.from_buffers(t, len(array), array.buffers(), offset=array.offset)
