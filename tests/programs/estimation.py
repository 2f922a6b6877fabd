# mypy: ignore-errors
# pyright: basic
"""Filters, hidden states and clusters."""

import numpy as np


class KalmanFilter:
    """Position and speed from positions; a NaN is a missing measurement."""

    def __init__(self, dt, process_noise, measurement_noise):
        self.F = np.array([[1.0, dt], [0.0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = process_noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        self.R = measurement_noise
        self.x = np.zeros(2)
        self.P = np.eye(2) * 10.0

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        innovation = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        gain = self.P @ self.H.T / S
        self.x = self.x + gain @ innovation
        self.P = (np.eye(2) - gain @ self.H) @ self.P
        return 0.5 * (np.log(2 * np.pi * S[0, 0]) + innovation[0] ** 2 / S[0, 0])


def track(measurements, dt, process_noise, measurement_noise):
    """The filtered states and the negative log likelihood."""
    kf = KalmanFilter(dt, process_noise, measurement_noise)
    states = []
    loss = 0.0
    for z in measurements:
        kf.predict()
        if not np.isnan(z):
            loss += kf.update(z)
        states.append(kf.x)
    return np.array(states), loss


def forward_backward(initial, transition, emission, observations):
    """The chance of each hidden state at each time, and the log likelihood."""
    T, n = len(observations), len(initial)
    alpha = np.zeros((T, n))
    scale = np.zeros(T)
    for t in range(T):
        if t == 0:
            alpha[0] = initial * emission[:, observations[0]]
        else:
            alpha[t] = (alpha[t - 1] @ transition) * emission[:, observations[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    beta = np.ones((T, n))
    for t in range(T - 2, -1, -1):
        beta[t] = transition @ (emission[:, observations[t + 1]] * beta[t + 1]) / scale[t + 1]
    return alpha * beta, np.sum(np.log(scale))


def viterbi(initial, transition, emission, observations):
    """The likeliest hidden states."""
    T, n = len(observations), len(initial)
    score = np.log(initial) + np.log(emission[:, observations[0]])
    back = np.zeros((T, n), dtype=int)
    for t in range(1, T):
        new = np.empty(n)
        for j in range(n):
            best = 0
            for i in range(1, n):
                if score[i] + np.log(transition[i, j]) > score[best] + np.log(transition[best, j]):
                    best = i
            back[t, j] = best
            new[j] = score[best] + np.log(transition[best, j]) + np.log(emission[j, observations[t]])
        score = new
    path = np.zeros(T, dtype=int)
    path[T - 1] = np.argmax(score)
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def k_means(points, k):
    """Centres and labels; starts from the first k points and ends when no point moves."""
    centres = points[:k].copy()
    labels = np.full(len(points), -1)
    rounds = 0
    while True:
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        new_labels = distances.argmin(axis=1)
        if np.array_equal(new_labels, labels):
            break
        labels = new_labels
        for c in range(k):
            members = labels == c
            count = members.sum()
            if count > 0:
                centres[c] = (points * members[:, None]).sum(axis=0) / count
        rounds += 1
    return centres, labels, rounds


def gaussian_mixture(x, means, tol):
    """Expectation maximisation in one dimension until the likelihood stays."""
    k = len(means)
    means = means.copy()
    variances = np.full(k, x.var())
    weights = np.full(k, 1 / k)
    old = -np.inf
    for iteration in range(200):
        density = (
            weights * np.exp(-0.5 * (x[:, None] - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)
        )
        total = density.sum(axis=1)
        likelihood = np.log(total).sum()
        if likelihood - old < tol:
            break
        old = likelihood
        share = density / total[:, None]
        size = share.sum(axis=0)
        for j in range(k):
            means[j] = share[:, j] @ x / size[j]
            variances[j] = max(share[:, j] @ (x - means[j]) ** 2 / size[j], 1e-6)
            weights[j] = size[j] / len(x)
    return means, variances, weights, iteration


def logistic_regression(X, y, ridge, tol):
    """Newton's method until it converges, at most 25 steps."""
    w = np.zeros(X.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-X @ w))
        gradient = X.T @ (p - y) + ridge * w
        hessian = (X.T * (p * (1 - p))) @ X + ridge * np.eye(X.shape[1])
        step = np.linalg.solve(hessian, gradient)
        w = w - step
        if np.linalg.norm(step) < tol:
            break
    return w


def levinson_durbin(autocorrelation, order):
    """Coefficients of an autoregression, its error, and the reflection coefficients."""
    r = autocorrelation
    a = np.zeros(order + 1)
    a[0] = 1.0
    reflections = np.zeros(order)
    error = r[0]
    if error == 0:
        return a, error, reflections
    for m in range(1, order + 1):
        acc = r[m]
        for i in range(1, m):
            acc += a[i] * r[m - i]
        k = -acc / error
        reflections[m - 1] = k
        previous = a.copy()
        for i in range(1, m):
            a[i] = previous[i] + k * previous[m - i]
        a[m] = k
        error *= 1 - k * k
        if error <= 0:
            break
    return a, error, reflections


def running_moments(x, threshold):
    """Welford's mean and variance, without numbers far from what was seen before."""
    count, mean, m2 = 0, 0.0, 0.0
    outliers = 0
    for value in x:
        if count > 3:
            deviation = np.sqrt(m2 / (count - 1))
            if abs(value - mean) > threshold * deviation:
                outliers += 1
                continue
        count += 1
        delta = value - mean
        mean += delta / count
        m2 += delta * (value - mean)
    if count < 2:
        return mean, 0.0, outliers
    return mean, m2 / (count - 1), outliers
