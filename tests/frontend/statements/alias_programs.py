"""Random programs in which several names of lists or arrays change hands depending on values, and their comparison with
Python.

``PYTHONPATH=tests python tests/frontend/statements/alias_programs.py --seed 0 --count 100 --of arrays --given``
runs them.
"""

import argparse
import copy
import importlib.util
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

import tracemill as tm
from support.source_folder import new_folder
from tracemill.compiler.errors import TracemillError

Kind = Literal["lists", "arrays"]

NAMES = ("a", "b", "c", "r", "s")
PLACES = ("0", "1", "2", "k", "(k + 1) % 3")
METHODS = ("append(1.0)", "reverse()", "sort()", "extend([2.0])")
RESULT = {
    "lists": "[list(q) for q in (a, b, c, r, s)], [list(q) for q in m]",
    "arrays": "[q.copy() for q in (a, b, c, r, s)], [q.copy() for q in m]",
}
HEADER = """import numpy as np


def pick(p, q, t):
    if t > 2.0:
        return p
    return q


"""


class AliasProgram:
    """The text of a function of three rows, if they are `given` by the caller, four numbers, and an int."""

    def __init__(self, seed: int, kind: Kind, *, given: bool) -> None:
        self._random, self._kind = random.Random(seed), kind
        self._lines: list[str] = []
        self._loops = 0
        self._write(0, "def function(m, x, k):" if given else "def function(x, k):")
        if not given:
            rows = ("x[0], x[1]", "x[2], x[3]", "x[1], x[2]")
            self._write(1, f"m = [{', '.join(map(self._row, rows))}]")
        self._write(1, "a, b, c = m")
        self._write(1, f"r, s = {self._one_of('a, b', 'b, c', 'a, a', 'm[k], c')}")
        for _ in range(self._random.randint(3, 7)):
            self._statement(1)
        self._write(1, f"return {RESULT[kind]}")
        self.text = HEADER + "\n".join(self._lines) + "\n"

    def _write(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _one_of(self, *texts: str) -> str:
        return self._random.choice(texts)

    # ---- expressions ---------------------------------------------------------------------------------

    def _row(self, numbers: str) -> str:
        return f"[{numbers}]" if self._kind == "lists" else f"np.array([{numbers}])"

    def _name(self) -> str:
        return self._one_of(*NAMES)

    def _number(self) -> str:
        row, number = (
            f"m[{self._random.randrange(3)}][{self._random.randrange(2)}]",
            self._random.randrange(4),
        )
        return self._one_of(
            f"{self._name()}[0]", f"{self._name()}[1]", f"x[{number}]", f"{number + 1}.0", row
        )

    def _test(self) -> str:
        if self._random.random() < 0.12:
            return f"{self._old()} is {self._old()}"
        if self._kind == "lists" and self._random.random() < 0.08:
            return f"len({self._old()}) > 2"
        return f"{self._number()} {self._one_of('<', '>', '<=', '>=')} {self._number()}"

    def _place(self) -> str:
        return self._one_of(*PLACES)

    def _old(self) -> str:
        """A list that exists."""
        return self._one_of(*NAMES, f"m[{self._place()}]")

    def _value(self) -> str:
        """A list, new or old."""
        chance = self._random.random()
        if chance < 0.55:
            return self._old()
        if chance < 0.75:
            return f"({self._old()} if {self._test()} else {self._old()})"
        if chance < 0.80:
            return f"max({self._old()}, {self._old()}, key=lambda q: q[0])"
        if chance < 0.84:
            return f"sorted(m, key=lambda q: q[0])[{self._random.randrange(3)}]"
        if chance < 0.88:
            return f"pick({self._old()}, {self._old()}, {self._number()})"
        return self._row(f"{self._number()}, {self._number()}")

    # ---- statements ----------------------------------------------------------------------------------

    def _statement(self, depth: int) -> None:
        simple = (
            (0.22, self._assignment), (0.06, self._exchange), (0.04, self._chosen_pair), (0.10, self._exchange_in_m),
            (0.06, self._entry), (0.22, self._write_to_row), (0.05, self._change), (0.05, self._new_place),
        )  # fmt: skip
        chance = self._random.random()
        for share, statement in simple:
            if chance < share:
                self._write(depth, statement())
                return
            chance -= share
        if depth > 2:
            self._write(depth, self._write_to_row())
        elif self._random.random() < 0.6:
            self._branch(depth)
        else:
            self._loop(depth)

    def _assignment(self) -> str:
        return f"{self._name()} = {self._value()}"

    def _exchange(self) -> str:
        one, other = self._random.sample(NAMES, 2)
        return f"{one}, {other} = {other}, {one}"

    def _chosen_pair(self) -> str:
        first, second = (f"({self._old()}, {self._old()})" for _ in range(2))
        return f"{self._name()}, {self._name()} = {first} if {self._test()} else {second}"

    def _exchange_in_m(self) -> str:
        one, other = self._place(), self._place()
        return f"m[{one}], m[{other}] = m[{other}], m[{one}]"

    def _entry(self) -> str:
        return f"m[{self._place()}] = {self._value()}"

    def _write_to_row(self) -> str:
        return f"{self._old()}[{self._one_of('0', '1', 'k % 2')}] {self._one_of('=', '+=')} {self._number()}"

    def _change(self) -> str:
        if self._random.random() < 0.3:
            return "m.sort(key=lambda q: q[0])"
        if self._kind == "lists":
            return f"{self._old()}.{self._one_of(*METHODS)}"
        return f"{self._old()}[...] = {self._number()}"

    def _new_place(self) -> str:
        return f"k = {self._one_of('(k + 1) % 3', '0', f'1 if {self._test()} else 2')}"

    def _block(self, depth: int) -> None:
        for _ in range(self._random.randint(1, 3)):
            self._statement(depth)

    def _branch(self, depth: int) -> None:
        self._write(depth, f"if {self._test()}:")
        self._block(depth + 1)
        if self._random.random() < 0.6:
            self._write(depth, "else:")
            self._block(depth + 1)

    def _loop(self, depth: int) -> None:
        self._loops += 1
        counter, limit = f"n{self._loops}", f"x[{self._random.randrange(4)}]"
        if self._random.random() < 0.5:
            self._write(depth, f"{counter} = 0")
            self._write(depth, f"while {counter} < {limit} and {counter} < 3:")
            self._write(depth + 1, f"{counter} += 1")
        else:
            self._write(depth, f"for {counter} in range(int({limit})):")
        self._block(depth + 1)


def function_of(program: AliasProgram) -> Callable[..., Any]:
    """The function of a program. Its source stays in a file as long as Python runs."""
    folder = new_folder()
    file = folder / "program.py"
    file.write_text(program.text)
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.function
    return function


def difference(seed: int, kind: Kind, backend: Any, *, given: bool) -> str:
    """How three calls of a compiled program differ from Python's; empty if they agree. It begins with "refused" if the
    program cannot be compiled."""
    function = function_of(AliasProgram(seed, kind, given=given))
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for call in range(3):
        numbers = np.random.default_rng(10 * seed + call)
        x, k = numbers.integers(0, 5, 4).astype(float), int(numbers.integers(0, 3))
        rows: list[Any] = numbers.integers(0, 5, (3, 2)).astype(float).tolist()
        if kind == "arrays":
            rows = list(map(np.array, rows))
        try:
            found = _seen(compiled, rows, x, k, given=given)
        except TracemillError as error:
            return f"refused: {type(error).__name__}: {error}"
        expected = _seen(function, rows, x, k, given=given)
        if found != expected:
            return f"call {call}: {found} instead of {expected}"
    return ""


def _seen(function: Callable[..., Any], rows: list[Any], x: Any, k: int, *, given: bool) -> str:
    """What a call returns, or the error that it raises, and what it leaves in the rows of the caller."""
    rows = copy.deepcopy(rows)
    own = list(rows)
    try:
        result = function(*([rows] if given else []), x.copy(), k)
    except TracemillError:
        raise
    except Exception as error:
        return repr(error)
    return repr(_plain((result, rows, own) if given else result))


def _plain(x: Any) -> Any:
    """Lists of Python's numbers, without −0."""
    return list(map(_plain, x)) if isinstance(x, list | tuple | np.ndarray) else float(x) + 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--of", choices=["lists", "arrays"], default="lists")
    parser.add_argument("--given", action="store_true", help="the caller gives the rows")
    parser.add_argument("--backend", default="numpy")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        text = difference(seed, options.of, options.backend, given=options.given)
        counts[text.partition(":")[0] if text.startswith("refused") else "wrong" if text else "right"] += 1
        if text and not text.startswith("refused"):
            print(seed, text, flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
