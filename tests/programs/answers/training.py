"""Answers for `programs.training`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from programs.checks.outcomes import Outcome


def warmup_cosine(got: Outcome, step: int, warmup: int, total: int) -> None:
    known = {0: 0.1, 9: 1.0, 10: 1.0, 60: (1 + np.cos(np.pi * 5 / 9)) / 2, 100: 0.0}
    assert_allclose(got.result, known[step])


def fit_line(got: Outcome, w: Any, b: Any, x: Any, y: Any, epochs: int, lr: float) -> None:
    losses = got.result
    design = np.column_stack([x, np.ones(len(x))])
    solution, *_ = np.linalg.lstsq(design, y)
    # Momentum is a linear recursion of the distance from the solution and the velocity.
    d = len(solution)
    curvature = 2 * design.T @ design / len(y)
    step = np.block([[np.eye(d) - lr * curvature, 0.9 * np.eye(d)], [-lr * curvature, 0.9 * np.eye(d)]])
    state = np.concatenate([np.vstack([w, [b]]) - solution, np.zeros_like(solution)])
    taken = np.count_nonzero(losses)
    for loss in losses[:taken]:
        assert_allclose(loss, ((design @ (solution + state[:d]) - y) ** 2).mean(), rtol=1e-8, atol=1e-20)
        state = step @ state
    found = np.concatenate([got.arguments[0].ravel(), got.arguments[1]])
    assert_allclose(found, (solution + state[:d]).ravel(), rtol=1e-6)
    assert taken == epochs or losses[taken - 1] < 1e-8


def train_mlp(got: Outcome, params: Any, x: Any, y: Any, steps: int, warmup: int, clip: float) -> None:
    """The same training with derivatives from differences."""
    names = sorted(params)
    shapes = [params[name].shape for name in names]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def loss(flat: Any) -> Any:
        parts = [part.reshape(s) for part, s in zip(np.split(flat, ends), shapes, strict=True)]
        b1, b2, w1, w2 = parts
        return ((np.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()

    p = np.concatenate([params[name].ravel() for name in names])
    m = v = np.zeros_like(p)
    for t in range(1, steps + 1):
        g = np.array([(loss(p + e) - loss(p - e)) / 2e-5 for e in 1e-5 * np.eye(len(p))])
        g *= min(1, clip / np.linalg.norm(g))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        done = (t - 1 - warmup) / max(steps - warmup, 1)
        scale = t / warmup if t <= warmup else (1 + np.cos(np.pi * done)) / 2
        p = p - 0.05 * scale * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    trained, final = got.result
    assert_allclose(np.concatenate([trained[name].ravel() for name in names]), p, rtol=1e-4, atol=1e-4)
    assert_allclose(final, loss(p), rtol=1e-3)


def early_stopping(
    got: Outcome, w: Any, x: Any, y: Any, x_val: Any, y_val: Any, rate: float, patience: int
) -> None:
    best_w, best, epochs = got.result
    assert_allclose(best, ((x_val @ best_w - y_val) ** 2).mean())
    first = w + rate * 2 * x.T @ (y - x @ w) / len(y)
    assert best <= ((x_val @ first - y_val) ** 2).mean() + 1e-12
    assert patience < epochs <= 60


def sgd_regression(got: Outcome, x: Any, y: Any, batch_size: int, epochs: int, lr: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = np.zeros(x.shape[1])
    for epoch in range(1, epochs + 1):
        order = rng.permutation(len(y))
        for rows in np.array_split(order, range(batch_size, len(y), batch_size)):
            w = w - lr / epoch * np.mean((x[rows] @ w - y[rows])[:, None] * x[rows], axis=0)
    assert_allclose(got.result, w)


def q_learning(got: Outcome, rewards: Any, episodes: int, epsilon: float, seed: int) -> None:
    q = got.result
    assert np.all(np.abs(q) <= np.abs(rewards).max() / (1 - 0.9))
    assert not q[0].any()
    assert not q[-1].any()
    assert q.any()
    # One step from an end, walking there only ever gives its reward, since what follows it is worth nothing.
    for state, action, end in ((1, 0, 0), (len(rewards) - 2, 1, len(rewards) - 1)):
        if rewards[end]:
            visits = np.log2(1 / (1 - q[state, action] / rewards[end]))
            assert_allclose(visits, round(visits), atol=1e-9)
        else:
            assert q[state, action] == 0
