"""Functions of an exported file that run launches on flat torch tensors, also in loops."""

from collections.abc import Mapping
from typing import Final

FLAT: Final = '''\
def flat(x, device):
    """The numbers of a tensor one after another, complex ones as pairs."""
    x = x.to(device).contiguous()
    return (torch.view_as_real(x) if x.is_complex() else x).view(-1)
'''

DEVICE: Final = '''\
def device_of(tensors):
    """The device of the tensors; numbers have none."""
    return next((x.device for x in tensors if x.dim() or x.is_cuda), torch.device("cuda"))
'''

SCAN: Final = '''\
def scan(body, length, reverse, consts, carried, ends, spares, xs, ys, work):
    """Run `body` for each row of `xs` and `ys`: tensors, the length of a row, and where one is copied to, or None.

    The carry alternates between two places, so that the last iteration writes to `ends`.
    """
    now = carried
    for iteration in range(length):
        row = length - 1 - iteration if reverse else iteration
        then = (ends, spares)[(length - 1 - iteration) & 1]
        read = [(x[row * size : (row + 1) * size], place) for x, size, place in xs]
        made = [(y[row * size : (row + 1) * size], place) for y, size, place in ys]
        given = [x if place is None else place.copy_(x) for x, place in read]
        body(work, *consts, *now, *given, *then, *(y if place is None else place for y, place in made))
        for y, place in made:
            if place is not None:
                y.copy_(place)
        now = then
    if not length:
        for end, start in zip(ends, carried):
            end.copy_(start)
'''

WHILE: Final = '''\
def repeat(condition, body, most, consts, carried, ends, spares, goes_on, condition_work, work):
    """Run `body` as long as `condition` is true; each iteration waits for it."""
    now, iteration = carried, 0
    while iteration != most:
        condition(condition_work, *consts, *now, goes_on)
        if not goes_on.item():
            break
        then = (ends, spares)[iteration & 1]
        body(work, *consts, *now, *then)
        now, iteration = then, iteration + 1
    for end, last in zip(ends, now):
        if end is not last:
            end.copy_(last)
'''

LAUNCHER: Final[Mapping[str, str]] = {"flat": FLAT, "device_of": DEVICE, "scan": SCAN, "repeat": WHILE}
"""By name."""
