"""The values of hops: 24 bits in TCP and UDP, 16 bits of floating point in NSH."""

from __future__ import annotations

from support.pptmon_model.errors import FormatError, require

VALUE_MAX = 0xFFFFFF
"""24 bits; as a result: this much or more."""
FLOAT_MAX = 0xFFFF
"""16 bits; as a result: VALUE_MAX or more."""
MANTISSA_BITS = 12


def saturated(value: int) -> int:
    """A value in 24 bits: what is larger becomes the largest."""
    return min(value, VALUE_MAX)


def elapsed(entered: int, left: int, bits: int = 24) -> int:
    """Difference of two readings of a clock of which only the low `bits` are kept."""
    return (left - entered) % (1 << bits)


def encode_float(value: int) -> int:
    """A value as 4 bits of exponent and 12 of mantissa, rounded to the nearest.

    It means mantissa * 2^exponent: exact up to 4095, then wrong by 2^-12 at most. VALUE_MAX and
    what is larger becomes FLOAT_MAX.
    """
    if value < 0:
        raise FormatError("field", f"value is {value}; allowed are 0 and more")
    if value >= VALUE_MAX:
        return FLOAT_MAX
    exponent = max(0, value.bit_length() - MANTISSA_BITS)
    mantissa = (value + (1 << exponent >> 1)) >> exponent
    if mantissa >> MANTISSA_BITS:
        mantissa, exponent = mantissa >> 1, exponent + 1
    return exponent << MANTISSA_BITS | mantissa


def decode_float(encoded: int) -> int:
    """The value of 16 bits of floating point, VALUE_MAX at most."""
    require(encoded, "encoded value", FLOAT_MAX)
    mantissa = encoded & ((1 << MANTISSA_BITS) - 1)
    return saturated(mantissa << (encoded >> MANTISSA_BITS))
