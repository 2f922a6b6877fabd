"""`SharedLoop`: a loop over chunks that threads may share, as a function for any chunk and a call of the pool."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Template

from .pool_text import CALL

_FUNCTION = Template("""\
struct ${name}_chunks {
$fields};

static void ${name}_any_chunk(void *with, long $chunk)
{
    const struct ${name}_chunks *const all = with;
$body
}
""")


@dataclass(frozen=True, slots=True)
class SharedLoop:
    """A loop whose iterations depend only on their number, `chunk`, and on what they are given."""

    name: str
    """The beginning of the names of its structure and its function."""
    given: Sequence[str]
    """Declarations of what is given: ``const float *restrict x``, ``long per_chunk``."""
    body: Sequence[str]
    """The statements of an iteration."""
    chunk: str = "chunk"

    @property
    def function(self) -> str:
        """The structure with what all chunks use, and the function that computes any of them."""
        used = self._used
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, used))})\b") if used else None
        body = [pattern.sub(r"all->\1", line) if pattern else line for line in self.body]
        fields = "".join(f"    {declaration};\n" for declaration in used.values())
        return _FUNCTION.substitute(name=self.name, fields=fields, chunk=self.chunk, body="\n".join(body))

    def call(self, count: str, threads: str = "threads") -> str:
        """The statement that computes this many chunks."""
        given = f"&(struct {self.name}_chunks){{{', '.join(self._used)}}}"
        return f"{CALL}{self.name}_any_chunk, {given}, {count}, {threads});"

    @property
    def _used(self) -> dict[str, str]:
        """The declarations of what the body uses, by name."""
        words = set(re.findall(r"\w+", " ".join(self.body)))
        declared = {name_of(one): one.replace("restrict ", "") for one in self.given}
        return {name: declaration for name, declaration in declared.items() if name in words}


def name_of(declaration: str) -> str:
    """``x0`` of ``const float *restrict x0``."""
    return declaration.rsplit(" ", 1)[1].lstrip("*")


def names(declarations: Iterable[str]) -> list[str]:
    """The names that are declared."""
    return [name_of(one) for one in declarations]
