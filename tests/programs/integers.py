# mypy: ignore-errors
# pyright: basic
"""Whole numbers and their bits."""

import numpy as np


def collatz(n):
    """The steps to 1 and the highest number on the way."""
    steps = 0
    highest = n
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        if n > highest:
            highest = n
        steps += 1
    return steps, highest


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def add_fractions(numerators, denominators):
    """The sum in lowest terms, with a positive denominator."""
    top, bottom = 0, 1
    for n, d in zip(numerators, denominators, strict=True):
        if d == 0:
            raise ZeroDivisionError("a denominator is zero")
        top, bottom = top * d + n * bottom, bottom * d
        divisor = gcd(abs(top), abs(bottom))
        if divisor > 1:
            top //= divisor
            bottom //= divisor
    if bottom < 0:
        top, bottom = -top, -bottom
    return top, bottom


def modular_power(base, exponent, modulus):
    """By squaring, bit by bit."""
    if exponent < 0:
        raise ValueError("the exponent must not be negative")
    if modulus == 1:
        return 0
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


def prime_sieve(n):
    """Which numbers up to n are prime, and how many."""
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    p = 2
    while p * p <= n:
        if is_prime[p]:
            for multiple in range(p * p, n + 1, p):
                is_prime[multiple] = False
        p += 1
    return is_prime, is_prime.sum()


def crc32(data):
    """The check sum of ZIP and PNG, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


CRC_TABLE = np.zeros(256, dtype=np.uint16)
for _i in range(256):
    _c = _i << 8
    for _ in range(8):
        _c = ((_c << 1) ^ 0x1021) & 0xFFFF if _c & 0x8000 else (_c << 1) & 0xFFFF
    CRC_TABLE[_i] = _c


def crc16(data):
    """The check sum of XMODEM, from a table."""
    crc = np.uint16(0)
    for byte in data:
        crc = (crc << np.uint16(8)) ^ CRC_TABLE[(crc >> np.uint16(8)) ^ byte]
    return crc


def adler32(data):
    """The check sum of zlib."""
    a, b = 1, 0
    for byte in data.astype(np.int64):
        a += byte
        if a >= 65521:
            a -= 65521
        b += a
        if b >= 65521:
            b -= 65521
    return b << 16 | a


def card_is_valid(digits):
    """Luhn's check of a card number."""
    total = 0
    double = False
    for d in reversed(digits):
        if double:
            d = d * 2
            if d > 9:
                d -= 9
        total += d
        double = not double
    return total % 10 == 0


def integer_root(n):
    """The whole part of the square root."""
    if n < 2:
        return n
    x = n
    y = (x + 1) // 2
    while y < x:
        x = y
        y = (x + n // x) // 2
    return x


def digit_sums(numbers, base):
    """The sum of the digits of each number in a base."""
    sums = np.zeros_like(numbers)
    for i in range(numbers.shape[0]):
        rest = numbers[i]
        while rest > 0:
            sums[i] += rest % base
            rest //= base
    return sums


def gray_codes(bits):
    """Every code of a width, a column per bit; neighbours differ in one bit."""
    n = 1 << bits
    codes = np.zeros((n, bits), dtype=np.uint8)
    for i in range(n):
        g = i ^ (i >> 1)
        for b in range(bits):
            codes[i, bits - 1 - b] = (g >> b) & 1
    return codes


def count_queens(n):
    """The ways to place n queens, by backtracking with a stack of columns."""
    columns = np.zeros(n, dtype=int)
    row = 0
    column = 0
    solutions = 0
    while row >= 0:
        placed = False
        while column < n and not placed:
            safe = True
            for r in range(row):
                if columns[r] == column or abs(columns[r] - column) == row - r:
                    safe = False
                    break
            if safe:
                placed = True
            else:
                column += 1
        if placed and row == n - 1:
            solutions += 1
            column += 1
        elif placed:
            columns[row] = column
            row += 1
            column = 0
        else:
            row -= 1
            if row >= 0:
                column = columns[row] + 1
    return solutions
