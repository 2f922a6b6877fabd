# mypy: ignore-errors
# pyright: basic
"""Options, portfolios and loans."""

import numpy as np


def american_put(spot, strike, rate, volatility, maturity, steps):
    """A binomial tree; the put may be exercised at each node."""
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    values = np.zeros(steps + 1)
    for j in range(steps + 1):
        values[j] = max(strike - spot * up**j * down ** (steps - j), 0.0)
    for i in range(steps - 1, -1, -1):
        for j in range(i + 1):
            hold = discount * (p * values[j + 1] + (1 - p) * values[j])
            exercise = strike - spot * up**j * down ** (i - j)
            if exercise > hold:
                values[j] = exercise
            else:
                values[j] = hold
    return values[0]


def normal_cdf(x):
    """The series of Abramowitz and Stegun, 26.2.17."""
    t = 1 / (1 + 0.2316419 * abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * poly
    if x >= 0:
        return 1 - tail
    return tail


def call_price(spot, strike, rate, volatility, maturity):
    """The price of a European call by Black and Scholes; at maturity what exercise gives."""
    if maturity <= 0:
        return max(spot - strike, 0.0)
    root = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * maturity) / root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * maturity) * normal_cdf(d1 - root)


def implied_volatility(price, spot, strike, rate, maturity):
    """Bisection until the bracket is small, or NaN if no volatility gives this price."""
    lo, hi = 1e-4, 4.0
    if price <= call_price(spot, strike, rate, lo, maturity) or price >= spot:
        return np.nan
    while hi - lo > 1e-9:
        mid = (lo + hi) / 2
        if call_price(spot, strike, rate, mid, maturity) > price:
            hi = mid
        else:
            lo = mid
    return (lo + hi) / 2


def longstaff_schwartz(spot, strike, rate, volatility, paths, steps, seed):
    """An American put over one year by regression on simulated paths."""
    rng = np.random.default_rng(seed)
    dt = 1 / steps
    z = rng.standard_normal((paths, steps))
    growth = (rate - volatility**2 / 2) * dt + volatility * np.sqrt(dt) * z
    prices = spot * np.exp(np.cumsum(growth, axis=1))
    cash = np.maximum(strike - prices[:, -1], 0.0)
    for t in range(steps - 2, -1, -1):
        cash = cash * np.exp(-rate * dt)
        payoff = np.maximum(strike - prices[:, t], 0.0)
        weight = (payoff > 0).astype(float)
        if weight.sum() < 10:
            continue
        x = prices[:, t] / strike
        basis = np.stack([np.ones(paths), x, x**2], axis=1)
        normal = (basis.T * weight) @ basis
        coefficients = np.linalg.solve(normal, basis.T @ (weight * cash))
        exercise = (payoff > 0) & (payoff > basis @ coefficients)
        cash = np.where(exercise, payoff, cash)
    return cash.mean() * np.exp(-rate * dt)


def drawdown(prices):
    """The deepest fall from a peak, where it began and ended, and the longest time below a peak."""
    peak, peak_at = prices[0], 0
    worst, began, ended = 0.0, 0, 0
    longest = 0
    for i, price in enumerate(prices):
        if price > peak:
            peak, peak_at = price, i
        elif 1 - price / peak > worst:
            worst = 1 - price / peak
            began, ended = peak_at, i
        longest = max(longest, i - peak_at)
    return worst, began, ended, longest


class Account:
    """Cash and shares, with a fee for each trade."""

    def __init__(self, cash, fee):
        self.cash = cash
        self.shares = 0.0
        self.fee = fee
        self.trades = 0

    def buy_all(self, price):
        if self.cash <= 0:
            return
        self.shares += self.cash * (1 - self.fee) / price
        self.cash = 0.0
        self.trades += 1

    def sell_all(self, price):
        if self.shares == 0:
            return
        self.cash += self.shares * price * (1 - self.fee)
        self.shares = 0.0
        self.trades += 1


def crossover_strategy(prices, fast, slow, fee):
    """Buy when the fast average is above the slow one, sell when it is below; returns the value each day."""
    account = Account(100.0, fee)
    worth = np.zeros(len(prices))
    for t in range(len(prices)):
        if t >= slow - 1:
            fast_mean = np.mean(prices[t - fast + 1 : t + 1])
            slow_mean = np.mean(prices[t - slow + 1 : t + 1])
            if fast_mean > slow_mean:
                account.buy_all(prices[t])
            elif fast_mean < slow_mean:
                account.sell_all(prices[t])
        worth[t] = account.cash + account.shares * prices[t]
    return worth, account.trades


def loan_schedule(principal, annual_rate, payment):
    """The months until a loan is repaid and the interest paid; -1 if the payment is too small."""
    balance = principal
    interest_paid = 0.0
    months = 0
    while balance > 0:
        interest = balance * annual_rate / 12
        if interest >= payment:
            return -1, np.inf
        interest_paid += interest
        balance = balance + interest - payment
        months += 1
    return months, interest_paid


def internal_rate(cash_flows):
    """The rate at which cash flows are worth nothing, by Newton's method from 10 %."""
    rate = 0.1
    for _ in range(100):
        value = 0.0
        slope = 0.0
        for t, cash in enumerate(cash_flows):
            value += cash / (1 + rate) ** t
            slope -= t * cash / (1 + rate) ** (t + 1)
        if rate > 100 or abs(slope) < 1e-12:
            raise RuntimeError("no rate makes these cash flows worth nothing")
        step = value / slope
        rate -= step
        if abs(step) < 1e-12:
            break
        if rate <= -1:
            rate = -0.9
    else:
        return np.nan
    return rate
