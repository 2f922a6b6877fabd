"""`Flags`: what ``x.flags`` of a traced array shows, by attribute and by NumPy's names: ``x.flags["C_CONTIGUOUS"]``."""

from collections.abc import Callable
from typing import Any

from ..callers.user_code import user_location
from ..errors import UnsupportedAttributeError
from .layout import Layout


class Flags:
    """``x.flags`` of a traced array, by attribute and by NumPy's names: ``x.flags["C_CONTIGUOUS"]``."""

    __slots__ = ("_layout", "_owndata", "_set_writeable", "_unknown_owner", "_writeable")

    aligned = True
    writebackifcopy = False

    def __init__(
        self,
        layout: Layout,
        *,
        owndata: bool,
        writeable: bool,
        set_writeable: Callable[[bool], None],
        unknown_owner: str = "",
    ) -> None:
        self._layout = layout
        self._owndata = owndata
        self._unknown_owner = unknown_owner
        self._writeable = writeable
        self._set_writeable = set_writeable

    @property
    def writeable(self) -> bool:
        return self._writeable

    @writeable.setter
    def writeable(self, new: Any) -> None:
        self._set_writeable(bool(new))
        self._writeable = bool(new)

    @property
    def owndata(self) -> bool:
        if self._unknown_owner:
            raise UnsupportedAttributeError(
                f"x.flags.owndata of a result of {self._unknown_owner} depends on the release of NumPy, and on values: "
                "write np.array(x) for an array that owns its memory",
                user_location(),
            )
        return self._owndata

    @property
    def c_contiguous(self) -> bool:
        return self._layout.is_contiguous("C")

    @property
    def f_contiguous(self) -> bool:
        return self._layout.is_contiguous("F")

    contiguous = c_contiguous
    fortran = f_contiguous

    @property
    def fnc(self) -> bool:
        """Fortran order and not C order."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Fortran order or C order."""
        return self.f_contiguous or self.c_contiguous

    @property
    def behaved(self) -> bool:
        return self.writeable

    @property
    def carray(self) -> bool:
        return self.writeable and self.c_contiguous

    @property
    def farray(self) -> bool:
        return self.writeable and self.fnc

    def __getitem__(self, name: str) -> bool:
        short = _SHORT_NAMES.get(name, name.lower() if name.isupper() else "")
        if short not in _FLAGS:
            raise KeyError("Unknown flag")
        return bool(getattr(self, short))

    def __setitem__(self, name: str, new: Any) -> None:
        if _SHORT_NAMES.get(name, name.lower()) != "writeable":
            raise KeyError("Unknown flag")
        self.writeable = new

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)


_SHORT_NAMES = {
    "C": "c_contiguous",
    "F": "f_contiguous",
    "O": "owndata",
    "W": "writeable",
    "A": "aligned",
    "X": "writebackifcopy",
    "B": "behaved",
    "CA": "carray",
    "FA": "farray",
    "CONTIGUOUS": "c_contiguous",
    "FORTRAN": "f_contiguous",
}
_FLAGS = frozenset(
    """
    aligned behaved c_contiguous carray contiguous f_contiguous farray fnc forc fortran owndata writeable
    writebackifcopy
    """.split()
)
