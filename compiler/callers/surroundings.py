"""What Python prints and warns with: its streams, NumPy's print options, and the filters of warnings."""

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The state when a trace begins. A function changes it while it is traced, and its program does not."""

    streams: tuple[Any, Any]
    filters: tuple[Any, ...]
    shows: Any
    print_options: Any

    @staticmethod
    def now() -> "Surroundings":
        streams = sys.stdout, sys.stderr
        return Surroundings(streams, tuple(warnings.filters), warnings.showwarning, np.get_printoptions())

    def change_of_prints(self) -> str | None:
        """What the function does if it has changed where or how numbers are printed."""
        if self.streams != (sys.stdout, sys.stderr):
            return "redirects what it prints"
        return None if self.print_options == np.get_printoptions() else "prints with its own np.printoptions"

    def change_of_warnings(self) -> str | None:
        """What the function does if it has changed what becomes of warnings."""
        is_same = self.filters == tuple(warnings.filters) and self.shows is warnings.showwarning
        return None if is_same and self.streams[1] is sys.stderr else "warns with filters of its own"
