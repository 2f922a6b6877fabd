"""Answers for `programs.finance`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.stats import norm

from programs.checks.outcomes import Outcome


def black_scholes(spot: float, strike: float, rate: float, volatility: float, maturity: float) -> Any:
    """The price of a call."""
    root = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * maturity) / root
    return spot * norm.cdf(d1) - strike * np.exp(-rate * maturity) * norm.cdf(d1 - root)


def tree_price(
    spot: float, strike: float, rate: float, volatility: float, maturity: float, steps: int
) -> Any:
    """The price of an American put, whole levels of a tree at a time."""
    dt = maturity / steps
    rise = volatility * np.sqrt(dt)
    p = (np.exp(rate * dt) - np.exp(-rise)) / (np.exp(rise) - np.exp(-rise))

    def exercised(level: int) -> Any:
        return strike - spot * np.exp(rise * np.arange(-level, level + 1, 2))

    values = np.maximum(exercised(steps), 0)
    for level in range(steps - 1, -1, -1):
        values = np.maximum(np.exp(-rate * dt) * (p * values[1:] + (1 - p) * values[:-1]), exercised(level))
    return values[0]


def american_put(got: Outcome, *arguments: Any) -> None:
    assert_allclose(got.result, tree_price(*arguments))


def call_price(
    got: Outcome, spot: float, strike: float, rate: float, volatility: float, maturity: float
) -> None:
    if maturity == 0:
        assert got.result == max(spot - strike, 0)
    else:
        assert_allclose(got.result, black_scholes(spot, strike, rate, volatility, maturity), atol=1e-4)


def implied_volatility(
    got: Outcome, price: float, spot: float, strike: float, rate: float, maturity: float
) -> None:
    if price < spot - strike * np.exp(-rate * maturity):
        assert np.isnan(got.result)
        return
    found: Any = optimize.brentq(lambda v: black_scholes(spot, strike, rate, v, maturity) - price, 1e-3, 4.0)
    assert_allclose(got.result, found, rtol=1e-5)


def longstaff_schwartz(
    got: Outcome,
    spot: float,
    strike: float,
    rate: float,
    volatility: float,
    paths: int,
    steps: int,
    seed: int,
) -> None:
    assert_allclose(got.result, tree_price(spot, strike, rate, volatility, 1.0, 200), rtol=0.25, atol=1e-3)


def drawdown(got: Outcome, prices: Any) -> None:
    worst, began, ended, longest = got.result
    peaks = np.maximum.accumulate(prices)
    assert_allclose(worst, (1 - prices / peaks).max())
    if worst > 0:
        assert prices[began] == peaks[ended]
        assert_allclose(worst, 1 - prices[ended] / prices[began])
    is_peak = np.append(prices[:1] > 0, peaks[1:] > peaks[:-1])
    since = np.arange(len(prices)) - np.maximum.accumulate(np.where(is_peak, np.arange(len(prices)), 0))
    assert longest == since.max()


def crossover_strategy(got: Outcome, prices: Any, fast: int, slow: int, fee: float) -> None:
    worth, trades = got.result
    averages = (
        np.convolve(prices, np.ones(fast) / fast)[: len(prices)],
        np.convolve(prices, np.ones(slow) / slow),
    )
    sign = np.sign(np.round(averages[0] - averages[1][: len(prices)], 9))
    sign[: slow - 1] = 0
    invested = False
    value, expected_trades = 100.0, 0
    for t, price in enumerate(prices):
        if invested:
            value *= price / prices[t - 1]
        if sign[t] and invested != (sign[t] > 0):
            invested = not invested
            value *= 1 - fee
            expected_trades += 1
        assert_allclose(worth[t], value)
    assert trades == expected_trades


def loan_schedule(got: Outcome, principal: float, annual_rate: float, payment: float) -> None:
    months, interest = got.result
    r = annual_rate / 12
    if principal * r >= payment:
        assert (months, interest) == (-1, np.inf)
        return
    expected = int(np.ceil(-np.log(1 - principal * r / payment) / np.log(1 + r)))
    growth = (1 + r) ** expected
    left = principal * growth - payment * (growth - 1) / r
    assert months == expected
    assert_allclose(interest, left + expected * payment - principal, atol=1e-9)


def internal_rate(got: Outcome, cash_flows: Any) -> None:
    if min(cash_flows) >= 0:
        assert isinstance(got.raised, RuntimeError)
    else:
        discount = 1 / (1 + got.result)
        assert got.result > -1
        assert_allclose(np.polyval(cash_flows[::-1], discount), 0, atol=1e-9)
