"""Launches that are recorded once and replayed by one driver call."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from ...compiler.errors import TracemillError
from .device import Device
from .driver import checked, driver, failure

_NON_BLOCKING: Final = 1


class LaunchGraph:
    """Recorded launches, with their pointers."""

    __slots__ = ("_device", "_executable", "_replay")

    def __init__(self, device: Device, executable: Any) -> None:
        self._device = device
        self._executable = executable
        self._replay = driver().cuGraphLaunch

    def replay(self, stream: int) -> None:
        """Queue all launches on a stream, in order. Call inside ``with device:``."""
        result = self._replay(self._executable, stream)
        if result[0]:
            raise failure(result[0], f"replaying launches on {self._device.name}")

    def __del__(self) -> None:
        self._device.discard(driver().cuGraphExecDestroy, self._executable)


def capture(device: Device, launches: Callable[[int], None]) -> LaunchGraph:
    """Record the launches of a function on the stream that it receives. Nothing runs.

    Memory that the launches use must live as long as the graph is replayed. The function must not wait or allocate.

    Raises:
        GpuError: it has done what cannot be recorded.
    """
    found = driver()
    doing = f"recording launches on {device.name}"
    # Another mode would restrict what this thread, or all threads, may do on other streams meanwhile.
    mode = found.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    with device, device.recording():
        stream = checked(found.cuStreamCreate(_NON_BLOCKING), doing)
        try:
            checked(found.cuStreamBeginCapture(stream, mode), doing)
            try:
                launches(int(stream))
            except BaseException:
                with suppress(TracemillError):
                    checked(found.cuGraphDestroy(checked(found.cuStreamEndCapture(stream), doing)), doing)
                raise
            graph = checked(found.cuStreamEndCapture(stream), doing)
            try:
                return LaunchGraph(device, checked(found.cuGraphInstantiate(graph, 0), doing))
            finally:
                found.cuGraphDestroy(graph)
        finally:
            found.cuStreamDestroy(stream)
