# mypy: ignore-errors
# pyright: basic, reportOptionalSubscript=false
"""Optimisers and schedules as classes, and loops that train with them."""

import numpy as np


class SGD:
    """Momentum; the parameters are updated in place."""

    def __init__(self, params, lr, momentum=0.9):
        self.params = params
        self.lr = lr
        self.momentum = momentum
        self.velocity = [np.zeros_like(p) for p in params]

    def step(self, grads):
        for p, v, g in zip(self.params, self.velocity, grads, strict=True):
            v *= self.momentum
            v -= self.lr * g
            p += v


class Adam:
    def __init__(self, lr, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
        self.t = 0
        self.m = None
        self.v = None

    def update(self, params, grads, scale=1.0):
        if self.m is None:
            self.m = {k: np.zeros_like(p) for k, p in params.items()}
            self.v = {k: np.zeros_like(p) for k, p in params.items()}
        self.t += 1
        out = {}
        for k, p in params.items():
            g = grads[k]
            self.m[k] = self.beta1 * self.m[k] + (1 - self.beta1) * g
            self.v[k] = self.beta2 * self.v[k] + (1 - self.beta2) * g**2
            m_hat = self.m[k] / (1 - self.beta1**self.t)
            v_hat = self.v[k] / (1 - self.beta2**self.t)
            out[k] = p - self.lr * scale * m_hat / (np.sqrt(v_hat) + self.eps)
        return out


def warmup_cosine(step, warmup, total):
    """The share of the learning rate at a step: it rises, then falls along a cosine to zero."""
    if step < warmup:
        return (step + 1) / warmup
    if step >= total:
        return 0.0
    return 0.5 * (1 + np.cos(np.pi * (step - warmup) / (total - warmup)))


def fit_line(w, b, x, y, epochs, lr):
    """Least squares by gradient descent; updates the weights in place and gives the losses."""
    optimiser = SGD([w, b], lr)
    losses = np.zeros(epochs)
    for epoch in range(epochs):
        error = x @ w + b - y
        losses[epoch] = (error**2).mean()
        optimiser.step([2 * x.T @ error / len(y), 2 * error.mean(axis=0)])
        if losses[epoch] < 1e-8:
            break
    return losses


def forward(params, x):
    h = np.tanh(x @ params["w1"] + params["b1"])
    return h, h @ params["w2"] + params["b2"]


def train_mlp(params, x, y, steps, warmup, clip):
    """Adam with a warm-up, a cosine and clipped gradients, on a hidden layer with its derivatives by hand."""
    optimiser = Adam(0.05)
    for step in range(steps):
        h, out = forward(params, x)
        d_out = 2 * (out - y) / y.size
        d_h = d_out @ params["w2"].T * (1 - h**2)
        grads = {"w1": x.T @ d_h, "b1": d_h.sum(axis=0), "w2": h.T @ d_out, "b2": d_out.sum(axis=0)}
        norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
        if norm > clip:
            grads = {k: g * (clip / norm) for k, g in grads.items()}
        params = optimiser.update(params, grads, warmup_cosine(step, warmup, steps))
    return params, ((forward(params, x)[1] - y) ** 2).mean()


class Plateau:
    """Halves the rate when the loss has not improved for a while."""

    def __init__(self, rate, patience):
        self.rate = rate
        self.patience = patience
        self.best = np.inf
        self.waited = 0

    def see(self, loss):
        if loss < self.best - 1e-6:
            self.best = loss
            self.waited = 0
        else:
            self.waited += 1
            if self.waited >= self.patience:
                self.rate *= 0.5
                self.waited = 0
        return self.rate


def early_stopping(w, x, y, x_val, y_val, rate, patience):
    """Stops when the validation loss has risen for long, and goes back to the best weights."""
    schedule = Plateau(rate, 2)
    best_w, best_loss, waited = w.copy(), np.inf, 0
    epochs = 0
    while waited < patience and epochs < 60:
        w = w - rate * 2 * x.T @ (x @ w - y) / len(y)
        loss = np.mean((x_val @ w - y_val) ** 2)
        rate = schedule.see(loss)
        if loss < best_loss:
            best_w, best_loss, waited = w.copy(), loss, 0
        else:
            waited += 1
        epochs += 1
    return best_w, best_loss, epochs


def sgd_regression(x, y, batch_size, epochs, lr, seed):
    """Mini batches in an order that is shuffled in each epoch; the last one may be short."""
    rng = np.random.default_rng(seed)
    w = np.zeros(x.shape[1])
    for epoch in range(epochs):
        order = rng.permutation(len(y))
        for start in range(0, len(y), batch_size):
            rows = order[start : start + batch_size]
            error = x[rows] @ w - y[rows]
            w -= lr / (1 + epoch) * x[rows].T @ error / len(rows)
    return w


def q_learning(rewards, episodes, epsilon, seed):
    """A table of values for walking left or right along a corridor, learned by trial."""
    rng = np.random.default_rng(seed)
    n = len(rewards)
    q = np.zeros((n, 2))
    for _ in range(episodes):
        state = n // 2
        for _ in range(20):
            explore, choice = rng.random(), rng.integers(2)
            action = choice if explore < epsilon else np.argmax(q[state])
            new = max(state - 1, 0) if action == 0 else min(state + 1, n - 1)
            q[state, action] += 0.5 * (rewards[new] + 0.9 * q[new].max() - q[state, action])
            state = new
            if state in (0, n - 1):
                break
    return q
