# mypy: ignore-errors
# pyright: basic
"""Signals: transforms, filters, controllers."""

import numpy as np


def fft(x):
    """By recursion; an odd length is transformed by its definition."""
    n = len(x)
    if n == 1:
        return x.astype(complex)
    if n % 2 == 1:
        k = np.arange(n)
        return np.exp(-2j * np.pi * np.outer(k, k) / n) @ x
    even = fft(x[::2])
    odd = fft(x[1::2])
    twiddle = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + twiddle, even - twiddle])


def fft_in_place(x):
    """Bit reversal and butterflies on a complex array; its length is a power of two."""
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    length = 2
    while length <= n:
        root = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            w = 1.0 + 0j
            for k in range(length // 2):
                a = x[start + k]
                b = w * x[start + k + length // 2]
                x[start + k] = a + b
                x[start + k + length // 2] = a - b
                w *= root
        length *= 2


def haar_denoise(signal, threshold):
    """Haar wavelets; small details are dropped, large ones shrunk."""
    coefficients = signal.copy()
    n = len(coefficients)
    length = n
    while length > 1:
        half = length // 2
        a = (coefficients[0:length:2] + coefficients[1:length:2]) / np.sqrt(2)
        d = (coefficients[0:length:2] - coefficients[1:length:2]) / np.sqrt(2)
        coefficients[:half] = a
        coefficients[half:length] = d
        length = half
    for i in range(1, n):
        c = coefficients[i]
        if abs(c) <= threshold:
            coefficients[i] = 0
        elif c > 0:
            coefficients[i] = c - threshold
        else:
            coefficients[i] = c + threshold
    length = 2
    while length <= n:
        half = length // 2
        a = coefficients[:half].copy()
        d = coefficients[half:length].copy()
        coefficients[0:length:2] = (a + d) / np.sqrt(2)
        coefficients[1:length:2] = (a - d) / np.sqrt(2)
        length *= 2
    return coefficients


def median_filter(x, width):
    """Windows shrink at the ends; each is sorted by insertion."""
    half = width // 2
    n = len(x)
    out = np.empty_like(x)
    for i in range(n):
        lo, hi = max(0, i - half), min(n, i + half + 1)
        window = np.zeros(width)
        size = 0
        for j in range(lo, hi):
            k = size
            while k > 0 and window[k - 1] > x[j]:
                window[k] = window[k - 1]
                k -= 1
            window[k] = x[j]
            size += 1
        if size % 2 == 1:
            out[i] = window[size // 2]
        else:
            out[i] = (window[size // 2 - 1] + window[size // 2]) / 2
    return out


def moving_statistics(x, width):
    """Mean, smallest and largest of the last `width` samples at each time."""
    n = len(x)
    mean = np.zeros(n)
    low = np.zeros(n)
    high = np.zeros(n)
    total = 0.0
    for i in range(n):
        total += x[i]
        if i >= width:
            total -= x[i - width]
        size = min(i + 1, width)
        mean[i] = total / size
        low[i] = high[i] = x[i]
        for j in range(i - size + 1, i):
            if x[j] < low[i]:
                low[i] = x[j]
            if x[j] > high[i]:
                high[i] = x[j]
    return {"mean": mean, "low": low, "high": high}


def schmitt_trigger(x, low, high):
    """On above `high`, off below `low`; returns the state over time and the number of switches."""
    state = False
    switches = 0
    out = np.zeros(len(x), dtype=bool)
    for i, value in enumerate(x):
        if not state and value > high:
            state = True
            switches += 1
        elif state and value < low:
            state = False
            switches += 1
        out[i] = state
    return out, switches


class PID:
    """A controller with a limited output; the integral stops at the limit."""

    def __init__(self, kp, ki, kd, limit):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.limit = limit
        self.integral = 0.0
        self.last_error = None

    def __call__(self, error, dt):
        slope = 0.0 if self.last_error is None else (error - self.last_error) / dt
        self.last_error = error
        u = self.kp * error + self.ki * self.integral + self.kd * slope
        if u > self.limit:
            return self.limit
        if u < -self.limit:
            return -self.limit
        self.integral += error * dt
        return u


def heat_a_room(target, gains, steps):
    """The temperature of a room under control."""
    kp, ki, kd = gains
    controller = PID(kp, ki, kd, limit=5.0)
    temperature = 15.0
    history = []
    for _ in range(steps):
        u = controller(target - temperature, 0.1)
        temperature += 0.1 * (u - 0.2 * (temperature - 10.0))
        history.append(temperature)
    return np.array(history)


def adaptive_filter(x, d, taps, mu):
    """Normalised least mean squares: the errors and the last weights."""
    w = np.zeros(taps)
    buffer = np.zeros(taps)
    errors = np.zeros_like(d)
    for n in range(len(x)):
        buffer[1:] = buffer[:-1].copy()
        buffer[0] = x[n]
        errors[n] = d[n] - w @ buffer
        power = buffer @ buffer
        if power > 1e-8:
            w += mu * errors[n] * buffer / power
    return errors, w


def run_lengths(x):
    """The longest run of equal samples and its value, the number of runs, and the run that each is in."""
    n = len(x)
    run = np.zeros(n, dtype=int)
    longest, of = 1, x[0]
    current = 1
    runs = 1
    for i in range(1, n):
        if x[i] == x[i - 1]:
            current += 1
        else:
            runs += 1
            current = 1
        run[i] = runs - 1
        if current > longest:
            longest, of = current, x[i]
    return longest, of, runs, run


def count_peaks(x, prominence):
    """Peaks that rise and fall by at least `prominence`, and the mean of their heights, or NaN."""
    count = 0
    total = 0.0
    low = high = x[0]
    rising = True
    for value in x[1:]:
        if rising:
            if value > high:
                high = value
            elif high - value >= prominence:
                if high - low >= prominence:
                    count += 1
                    total += high
                rising = False
                low = value
        elif value < low:
            low = value
        elif value - low >= prominence:
            rising = True
            high = value
    return count, total / count if count else np.nan


def limiter(samples, threshold, attack, release):
    """A compressor for sound in float32: the gain falls fast and rises slowly."""
    gain = np.float32(1)
    out = np.empty_like(samples)
    for i in range(samples.size):
        level = np.abs(samples[i])
        wanted = threshold / level if level > threshold else np.float32(1)
        if wanted < gain:
            gain += attack * (wanted - gain)
        else:
            gain += release * (wanted - gain)
        out[i] = samples[i] * gain
    return out
