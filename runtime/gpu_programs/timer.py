"""The time of work on a GPU, by its own clock."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from ..gpu.device import Device, Memory
from ..gpu.driver import checked, driver

WARM_UP_SECONDS: Final = 0.025
"""Warm-up: caches fill, and clocks rise."""

LEAST_SECONDS: Final = 0.1
LEAST_SAMPLES: Final = 20
MOST_SAMPLES: Final = 1000

_WITH_TIME: Final = 0


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that one call takes on the GPU."""

    median: float
    low: float
    """The 10th percentile of the samples."""
    high: float
    """The 90th percentile."""
    samples: int

    @property
    def spread(self) -> float:
        """The difference between high and low, relative to the median."""
        return (self.high - self.low) / self.median


def measure(call: Callable[[], object], device: Device, *, cold: bool = False) -> Timing:
    """The time on the GPU of the work that a call queues on the device's stream.

    It runs for 25 ms first, and is then measured at least 20 times and for 100 ms. Calls are queued without waiting
    in between, so that the time is that of the GPU if it is the slower side.

    Args:
        call: what is measured. It runs inside of ``with device:``.
        device: the GPU.
        cold: write over the cache before each call, so that the call finds nothing in it.
    """
    flushed = device.allocate(2 * device.cache_bytes) if cold else None
    started, calls = perf_counter(), 0
    while not calls or perf_counter() - started < WARM_UP_SECONDS:
        with device:
            call()
            device.synchronize()
        calls += 1
    each = (perf_counter() - started) / calls
    count = min(max(LEAST_SAMPLES, int(LEAST_SECONDS / each) + 1), MOST_SAMPLES)
    samples = list[float]()
    total = 0.0
    while len(samples) < LEAST_SAMPLES or (total < LEAST_SECONDS and len(samples) < MOST_SAMPLES):
        found = _samples(call, device, count, flushed)
        samples += found
        total += sum(found)
    low, median, high = (float(x) for x in np.quantile(samples, (0.1, 0.5, 0.9)))
    return Timing(median, low, high, len(samples))


def _samples(call: Callable[[], object], device: Device, count: int, flushed: Memory | None) -> list[float]:
    found = driver()
    doing = f"measuring on {device.name}"
    with device:
        events: list[tuple[Any, Any]] = []
        for _ in range(count):
            start, end = (checked(found.cuEventCreate(_WITH_TIME), doing) for _ in range(2))
            if flushed is not None:
                device.zero(flushed.pointer, flushed.nbytes)
            checked(found.cuEventRecord(start, device.stream), doing)
            call()
            checked(found.cuEventRecord(end, device.stream), doing)
            events.append((start, end))
        device.synchronize()
        seconds = [checked(found.cuEventElapsedTime(*pair), doing) / 1e3 for pair in events]
        for pair in events:
            for event in pair:
                found.cuEventDestroy(event)
    return seconds
