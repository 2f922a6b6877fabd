"""Answers for `programs.networks`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from programs.checks.outcomes import Outcome


def lstm(got: Outcome, sequence: Any, weights: Any, bias: Any, reset_every: int) -> None:
    hidden = len(bias) // 4
    w = weights.reshape(-1, 4, hidden)
    h = c = np.zeros(hidden)
    for t, x in enumerate(sequence):
        if reset_every and t % reset_every == 0:
            h = c = np.zeros(hidden)
        i, f, g, o = np.einsum("k,kgh->gh", [*x, *h], w) + bias.reshape(4, hidden)
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        assert_allclose(got.result[t], h)


def attend(got: Outcome, sequence: Any, wq: Any, wk: Any, wv: Any, heads: int) -> None:
    q, k, v = (np.stack(np.split(sequence @ w, heads, axis=1)) for w in (wq, wk, wv))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    scores[:, np.triu_indices(len(sequence), 1)[0], np.triu_indices(len(sequence), 1)[1]] = -np.inf
    assert_allclose(got.result, np.concatenate(list(softmax(scores, axis=2) @ v), axis=1))


def generate(got: Outcome, params: Any, prompt: Any, length: int, stop: int) -> None:
    tokens = got.result[got.result >= 0]
    p = params

    def norm(x: Any) -> Any:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)

    x = (
        p["embedding"][tokens] + p["positions"][: len(tokens)]
    )  # all positions at once: none sees the later ones
    h = norm(x)
    scores = (h @ p["wq"]) @ (h @ p["wk"]).T / np.sqrt(h.shape[1])
    scores[np.triu_indices(len(tokens), 1)] = -np.inf
    x = x + softmax(scores, axis=1) @ (h @ p["wv"])
    x = x + np.maximum(norm(x) @ p["w1"], 0) @ p["w2"]
    best = (x @ p["embedding"].T).argmax(axis=1)
    n = len(prompt)
    assert np.array_equal(tokens[:n], prompt)
    assert np.array_equal(tokens[n:], best[n - 1 : -1])
    assert stop not in tokens[n:-1]
    assert len(tokens) == length or tokens[-1] == stop


def beam_search(got: Outcome, log_probs: Any, transitions: Any, width: int) -> None:
    tokens, scores = got.result
    beams: dict[tuple[int, ...], Any] = {(v,): p for v, p in enumerate(log_probs[0])}
    for row in log_probs[1:]:
        best = sorted(beams, key=beams.__getitem__)[-width:]
        beams = {(*b, v): beams[b] + p + transitions[b[-1], v] for b in best for v, p in enumerate(row)}
    best = sorted(beams, key=beams.__getitem__, reverse=True)[:width]
    assert tokens.tolist() == [list(b) for b in best]
    assert_allclose(scores, [beams[b] for b in best])


def normalise(got: Outcome, batches: Any, test: Any) -> None:
    out, mean = got.result
    used = [batch for batch in batches if np.ptp(batch) > 0.01]
    shares = 0.1 * 0.9 ** np.arange(len(used))[::-1]
    expected = sum(share * batch.mean(axis=0) for share, batch in zip(shares, used, strict=True))
    var = 0.9 ** len(used) + sum(share * batch.var(axis=0) for share, batch in zip(shares, used, strict=True))
    assert_allclose(mean, expected)
    assert_allclose(out, (test - expected) / np.sqrt(var + 1e-5))


def hopfield(got: Outcome, patterns: Any, probe: Any, max_sweeps: int) -> None:
    state, sweeps = got.result
    weights = patterns.T @ patterns * (1 - np.eye(len(probe)))

    def energy(s: Any) -> Any:
        return -s @ weights @ s

    assert energy(state) <= energy(probe)
    assert -1 <= sweeps < max_sweeps
    if sweeps >= 0:
        assert np.array_equal(state, np.where(weights @ state >= 0, 1, -1))
        assert (sweeps == 0) == np.array_equal(state, probe)


def perceptron(got: Outcome, X: Any, y: Any, max_epochs: int) -> None:
    w, b, epochs = got.result
    signed = y[:, None] * np.column_stack([X, np.ones(len(X))])
    weights, passes, was_wrong = np.zeros(signed.shape[1]), 0, True
    while was_wrong and passes < max_epochs:
        was_wrong, passes = False, passes + 1
        for row in signed:
            if weights @ row <= 0:
                weights, was_wrong = weights + row, True
    assert_allclose([*w, b], weights)
    assert epochs == passes
