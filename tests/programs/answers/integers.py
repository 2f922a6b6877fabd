"""Answers for `programs.integers`: from the standard library, or known."""

import binascii
import math
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

from programs.checks.outcomes import Outcome


def collatz(got: Outcome, n: int) -> None:
    known = {27: (111, 9232), 97: (118, 9232), 1: (0, 1), 2**20: (20, 2**20)}
    assert got.result == known[n]


def add_fractions(got: Outcome, numerators: Any, denominators: Any) -> None:
    if 0 in denominators:
        assert isinstance(got.raised, ZeroDivisionError)
        return
    total = sum(Fraction(int(n), int(d)) for n, d in zip(numerators, denominators, strict=True))
    assert got.result == (Fraction(total).numerator, Fraction(total).denominator)


def modular_power(got: Outcome, base: int, exponent: int, modulus: int) -> None:
    if exponent < 0:
        assert isinstance(got.raised, ValueError)
    else:
        assert got.result == pow(base, exponent, modulus)


def prime_sieve(got: Outcome, n: int) -> None:
    is_prime, count = got.result
    primes = [k for k in range(2, n + 1) if all(k % d for d in range(2, math.isqrt(k) + 1))]
    assert np.flatnonzero(is_prime).tolist() == primes
    assert count == len(primes)


def crc32(got: Outcome, data: Any) -> None:
    assert got.result == zlib.crc32(bytes(data.tolist()))


def crc16(got: Outcome, data: Any) -> None:
    assert got.result == binascii.crc_hqx(bytes(data.tolist()), 0)


def adler32(got: Outcome, data: Any) -> None:
    assert got.result == zlib.adler32(bytes(data.tolist()))


def card_is_valid(got: Outcome, digits: Any) -> None:
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    backwards = [int(d) for d in digits][::-1]
    total = sum(backwards[::2]) + sum(doubled[d] for d in backwards[1::2])
    assert got.result == (total % 10 == 0)


def integer_root(got: Outcome, n: int) -> None:
    assert got.result == math.isqrt(n)


def digit_sums(got: Outcome, numbers: Any, base: int) -> None:
    assert got.result.tolist() == [sum(int(d) for d in np.base_repr(n, base)) for n in numbers]
    assert got.result.dtype == numbers.dtype


def gray_codes(got: Outcome, bits: int) -> None:
    codes = got.result
    assert len({tuple(code) for code in codes.tolist()}) == 2**bits
    assert np.all((codes[1:] != codes[:-1]).sum(axis=1) == 1)


def count_queens(got: Outcome, n: int) -> None:
    assert got.result == [1, 1, 0, 0, 2, 10, 4, 40, 92][n]
