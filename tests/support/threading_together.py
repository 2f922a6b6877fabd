"""Threads that run at the same time in a test."""

import threading
from collections.abc import Callable


def run_in_threads(work: Callable[[int], object], count: int) -> None:
    """Call ``work(0)``, ``work(1)``, … at once, each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
