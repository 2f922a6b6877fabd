# mypy: ignore-errors
# pyright: basic
"""Small networks with layers and state in classes."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


class LSTM:
    """One layer that keeps its state between calls."""

    def __init__(self, weights, bias, hidden):
        self.weights = weights
        self.bias = bias
        self.hidden = hidden
        self.reset()

    def reset(self):
        self.h = np.zeros(self.hidden)
        self.c = np.zeros(self.hidden)

    def step(self, x):
        gates = np.concatenate([x, self.h]) @ self.weights + self.bias
        i, f, g, o = np.split(gates, 4)
        self.c = self.c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        self.h = np.tanh(self.c) / (1 + np.exp(-o))
        return self.h


def lstm(sequence, weights, bias, reset_every):
    """The outputs of a sequence; the state is forgotten every `reset_every` steps, or never if that is 0."""
    layer = LSTM(weights, bias, len(bias) // 4)
    outputs = []
    for t, x in enumerate(sequence):
        if reset_every and t % reset_every == 0:
            layer.reset()
        outputs.append(layer.step(x))
    return np.stack(outputs)


class Attention:
    """Heads of causal attention over what was seen so far."""

    def __init__(self, wq, wk, wv, heads):
        self.wq, self.wk, self.wv = wq, wk, wv
        self.heads = heads
        self.keys = []
        self.values = []

    def __call__(self, x):
        q = x @ self.wq
        self.keys.append(x @ self.wk)
        self.values.append(x @ self.wv)
        keys, values = np.array(self.keys), np.array(self.values)
        size = q.shape[0] // self.heads
        out = np.zeros_like(q)
        for h in range(self.heads):
            part = slice(h * size, (h + 1) * size)
            scores = keys[:, part] @ q[part] / np.sqrt(size)
            out[part] = softmax(scores) @ values[:, part]
        return out


def attend(sequence, wq, wk, wv, heads):
    """Attention token by token, with a cache of keys and values."""
    layer = Attention(wq, wk, wv, heads)
    return np.array([layer(x) for x in sequence])


class Transformer:
    """One block: causal attention and a hidden layer."""

    def __init__(self, params):
        self.params = params

    def logits(self, tokens):
        p = self.params
        x = p["embedding"][tokens] + p["positions"][: len(tokens)]
        h = layer_norm(x)
        q, k, v = h @ p["wq"], h @ p["wk"], h @ p["wv"]
        scores = q @ k.T / np.sqrt(q.shape[1])
        scores = np.where(np.tril(np.ones(scores.shape, dtype=bool)), scores, -1e9)
        x = x + softmax(scores) @ v
        x = x + np.maximum(layer_norm(x) @ p["w1"], 0) @ p["w2"]
        return x[-1] @ p["embedding"].T


def generate(params, prompt, length, stop):
    """Greedy generation; what follows the stop token is filled with -1."""
    model = Transformer(params)
    tokens = np.full(length, -1)
    n = len(prompt)
    tokens[:n] = prompt
    for t in range(n, length):
        next_token = np.argmax(model.logits(tokens[:t]))
        tokens[t] = next_token
        if next_token == stop:
            break
    return tokens


def beam_search(log_probs, transitions, width):
    """The best sequences over steps of scores with a bonus for each pair; returns tokens and scores."""
    steps, vocabulary = log_probs.shape
    beams = [([], 0.0)]
    for t in range(steps):
        candidates = []
        for tokens, score in beams:
            for v in range(vocabulary):
                s = score + log_probs[t, v]
                if tokens:
                    s = s + transitions[tokens[-1], v]
                candidates.append(([*tokens, v], s))
        scores = np.array([s for _, s in candidates])
        order = np.argsort(-scores)
        beams = [candidates[k] for k in order[:width]]
    return np.array([tokens for tokens, _ in beams]), np.array([s for _, s in beams])


class BatchNorm:
    """Normalises by the batch in training and by running averages otherwise."""

    def __init__(self, features, momentum=0.9):
        self.mean = np.zeros(features)
        self.var = np.ones(features)
        self.momentum = momentum
        self.training = True

    def __call__(self, x):
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * mean
            self.var = self.momentum * self.var + (1 - self.momentum) * var
        else:
            mean, var = self.mean, self.var
        return (x - mean) / np.sqrt(var + 1e-5)


def normalise(batches, test):
    """Statistics from batches, used on test data; batches with too little spread are left out."""
    layer = BatchNorm(test.shape[1])
    for batch in batches:
        if batch.std() < 1e-3:
            continue
        layer(batch)
    layer.training = False
    return layer(test), layer.mean


def hopfield(patterns, probe, max_sweeps):
    """Recall a stored pattern; neurons flip one by one until none does."""
    n = patterns.shape[1]
    weights = np.zeros((n, n))
    for p in patterns:
        weights += np.outer(p, p)
    np.fill_diagonal(weights, 0)
    state = probe.copy()
    for sweep in range(max_sweeps):
        flipped = 0
        for i in range(n):
            field = weights[i] @ state
            new = 1.0 if field >= 0 else -1.0
            if new != state[i]:
                state[i] = new
                flipped += 1
        if flipped == 0:
            return state, sweep
    return state, -1


def perceptron(X, y, max_epochs):
    """Rosenblatt's rule until no example is wrong; labels are -1 and 1."""
    w = np.zeros(X.shape[1])
    b = 0.0
    epoch = 0
    mistakes = 1
    while mistakes and epoch < max_epochs:
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            if label * (x @ w + b) <= 0:
                w += label * x
                b += label
                mistakes += 1
        epoch += 1
    return w, b, epoch
