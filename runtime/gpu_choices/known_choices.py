"""The choices for kernels of programs that are printed but not run, with or without a GPU."""

from collections.abc import Mapping

from ...compiler.backends.triton.choice import Choice
from ...compiler.errors import MissingPackageError, NoDriverError, NoGpuError
from ..gpu.device import gpu
from ..machine.target import Target
from .lock_entry import Entries, architecture, choices_in
from .lock_file import read_lock


def known_choices(target: Target) -> Mapping[str, Choice]:
    """A target's choices in the lock file for its GPU; without a GPU, those for the only type of GPU with entries.

    Raises:
        LockFileError: the file is damaged.
    """
    if target.lock is None:
        return {}
    entries = read_lock(target.lock)
    kind = _kind_of(target, entries)
    return {} if kind is None else choices_in(entries, kind)


def _kind_of(target: Target, entries: Entries) -> str | None:
    try:
        return architecture(gpu(target.gpu))
    except (MissingPackageError, NoDriverError, NoGpuError):
        kinds = {kind for kind, _ in entries}
        return kinds.pop() if len(kinds) == 1 else None
