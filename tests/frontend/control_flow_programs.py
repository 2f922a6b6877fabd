"""Random programs of branches, loops, jumps and writes, as source text, and their comparison with Python.

``PYTHONPATH=tests python tests/frontend/control_flow_programs.py --seed 0 --count 100`` runs them on both backends.
"""

import argparse
import importlib.util
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import tracemill as tm
from support.source_folder import new_folder
from tracemill.compiler.errors import TracemillError

INTS, FLOATS, ARRAYS = ("i", "j"), ("x", "y"), ("a", "b")
RESULT = "x, y, i, j, a, b, box.x, box.n, row[0], row[1], row[2], table['p']"
HEADER = """import numpy as np


class Box:
    def __init__(self):
        self.x = 0.5
        self.n = 1

    def add(self, x):
        self.x = self.x + x
        if self.x > 1.5:
            self.n += 1
            self.x = self.x * 0.25


def helper(x, i):
    if i > 2:
        return x * 0.5
    for k in range(i):
        x = np.tanh(x) + k
        if x > 1.0:
            break
    return x

"""


class ProgramWriter:
    """Writes a function of two ints, two floats and two arrays of four entries."""

    def __init__(self, seed: int, *, raises: bool = True) -> None:
        self.draw = random.Random(seed)
        self.raises = raises
        self.lines: list[str] = []
        self._counters = 0

    def text(self, name: str) -> str:
        self.lines = [f"def {name}({', '.join((*INTS, *FLOATS, *ARRAYS))}):"]
        if self.draw.random() < 0.7:
            self.lines.append("    a = a.copy()")
            self.lines.append("    b = b.copy()")
        self.add(1, "box, row, table = Box(), [0.5, -1.0, 2.0], {'p': 0.25, 'q': 1.5}")
        self.block(1, self.draw.randint(3, 6), in_loop=False)
        self.lines.append(f"    return {RESULT}")
        return "\n".join(self.lines) + "\n"

    def block(self, depth: int, count: int, *, in_loop: bool) -> None:
        for _ in range(count):
            self.statement(depth, in_loop=in_loop)

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # ---- statements ----------------------------------------------------------------------------------

    def statement(self, depth: int, *, in_loop: bool) -> None:
        simple = [
            self.assign_int,
            self.assign_float,
            self.swap,
            self.write,
            self.update,
            self.rebind,
            self.view,
            self.set_part,
            self.set_part,
        ]
        nested = [self.branch, self.branch, self.while_loop, self.for_loop]
        if depth < 4 and self.draw.random() < 0.4:
            self.draw.choice(nested)(depth, in_loop)
        elif depth > 1 and self.draw.random() < 0.12:
            self.jump(depth, in_loop)
        else:
            self.draw.choice(simple)(depth)

    def assign_int(self, depth: int) -> None:
        self.add(depth, f"{self.draw.choice(INTS)} = {self.whole()}")

    def assign_float(self, depth: int) -> None:
        self.add(depth, f"{self.draw.choice(FLOATS)} = {self.real()}")

    def swap(self, depth: int) -> None:
        one, other = f"a[{self.index()}]", f"a[{self.index()}]"
        self.add(depth, self.draw.choice(["x, y = y, x", f"{one}, {other} = {other}, {one}", "a, b = b, a"]))

    def write(self, depth: int) -> None:
        self.add(depth, f"{self.draw.choice(ARRAYS)}[{self.index()}] = {self.real()}")

    def update(self, depth: int) -> None:
        array = self.draw.choice(ARRAYS)
        place = self.draw.choice(["", f"[{self.index()}]", "[1:]", "[::2]"])
        self.add(depth, f"{array}{place} {self.draw.choice(['*= 0.5', '+= x', '-= y'])}")

    def rebind(self, depth: int) -> None:
        array = self.draw.choice(ARRAYS)
        self.add(
            depth,
            f"{array} = {self.draw.choice(['a * 0.5 + y', 'np.tanh(b)', 'a.copy()', 'b[::-1].copy()'])}",
        )

    def view(self, depth: int) -> None:
        self.add(depth, f"v = {self.draw.choice(ARRAYS)}[1:]")
        self.add(depth, f"v[{self.draw.randint(0, 2)}] = {self.real()}")

    def set_part(self, depth: int) -> None:
        """An attribute, or an entry of a list or a dict."""
        place = self.draw.choice(["box.x", "row[0]", "row[-1]", "row[i % 3]", "table['p']"])
        line = self.draw.choice(
            [f"{place} = {self.real()}", f"{place} += {self.real(1)}", f"box.add({self.real(1)})"]
        )
        self.add(depth, f"box.n = {self.whole()}" if self.draw.random() < 0.2 else line)

    def jump(self, depth: int, in_loop: bool) -> None:
        jumps = [f"return {RESULT}"] * 2 + (["break", "continue"] * 4 if in_loop else [])
        error = self.draw.randint(0, 9)
        jumps += [f"raise ValueError({error})"] if self.raises else []
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, self.draw.choice(jumps))

    def branch(self, depth: int, in_loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.block(depth + 1, self.draw.randint(1, 2), in_loop=in_loop)
        if self.draw.random() < 0.3:
            self.add(depth, f"elif {self.test()}:")
            self.block(depth + 1, 1, in_loop=in_loop)
        if self.draw.random() < 0.5:
            self.add(depth, "else:")
            self.block(depth + 1, self.draw.randint(1, 2), in_loop=in_loop)

    def while_loop(self, depth: int, in_loop: bool) -> None:
        self._counters += 1
        counter = f"k{self._counters}"
        self.add(depth, f"{counter} = 0")
        self.add(depth, f"while {counter} < {self.draw.randint(2, 5)} and {self.test()}:")
        self.add(depth + 1, f"{counter} += 1")
        self.block(depth + 1, self.draw.randint(1, 3), in_loop=True)
        self.otherwise(depth, in_loop)

    def otherwise(self, depth: int, in_loop: bool) -> None:
        """The `else` of a loop, which runs unless a `break` ended it."""
        if self.draw.random() < 0.2:
            self.add(depth, "else:")
            self.block(depth + 1, 1, in_loop=in_loop)

    def for_loop(self, depth: int, in_loop: bool) -> None:
        over = self.draw.choice(
            ["range(i % 5)", "range(3)", "range(20)", "range(j % 4, 5)", "range(4, i % 3, -1)"]
        )
        target = f"t{depth}"
        if self.draw.random() < 0.2:
            over, target = "enumerate(a)", f"t{depth}, r"
            if self.draw.random() < 0.5:
                over = "zip(range(4), b)"
        elif self.draw.random() < 0.3:
            over = "[0, 2, 1]"
        self.add(depth, f"for {target} in {over}:")
        self.block(depth + 1, self.draw.randint(1, 3), in_loop=True)
        self.otherwise(depth, in_loop)

    # ---- expressions ---------------------------------------------------------------------------------

    def index(self) -> str:
        return self.draw.choice(["0", "-1", "2", "i % 4", "j % 4", "(i + j) % 4"])

    def whole(self, depth: int = 0) -> str:
        if depth > 1 or self.draw.random() < 0.3:
            return self.draw.choice([*INTS, str(self.draw.randint(0, 4))])
        one, other = self.whole(depth + 1), self.whole(depth + 1)
        return self.draw.choice(
            [
                f"({one} + {other}) % 7",
                f"abs({one} - {other})",
                f"min({one}, {other})",
                f"({one} if {self.test(depth + 1)} else {other})",
                f"({one} * 3 + 1) // 2 % 9",
                f"divmod({one}, 3)[1]",
                "len(a)",
            ]
        )

    def real(self, depth: int = 0) -> str:
        if depth > 1 or self.draw.random() < 0.3:
            parts = ["box.x", "row[0]", "row[i % 3]", "table['p']"]
            return self.draw.choice(
                [*FLOATS * 2, "0.5", "-1.25", f"a[{self.index()}]", self.draw.choice(parts)]
            )
        one, other = self.real(depth + 1), self.real(depth + 1)
        return self.draw.choice(
            [
                f"np.tanh({one} + {other})",
                f"({one} - {other}) * 0.5",
                f"max({one}, {other})",
                f"({one} if {self.test(depth + 1)} else {other})",
                f"helper({one}, {self.whole(depth + 1)})",
                f"float({self.whole(depth + 1)}) * 0.25",
                f"{self.draw.choice(ARRAYS)}.mean()",
                f"abs({one})",
            ]
        )

    def test(self, depth: int = 0) -> str:
        simple = [
            f"{self.draw.choice(FLOATS)} < {self.real(2)}",
            f"{self.draw.choice(INTS)} {self.draw.choice(['==', '>', '!=', '<='])} {self.whole(2)}",
            f"a[{self.index()}] > {self.real(2)}",
            f"0 <= {self.draw.choice(INTS)} < {self.draw.randint(1, 6)}",
            f"{self.draw.choice(INTS)} in (1, 2, 5)",
            "np.any(a > 0.5)",
        ]
        if depth > 1 or self.draw.random() < 0.6:
            return self.draw.choice(simple)
        one, other = self.test(depth + 1), self.test(depth + 1)
        return self.draw.choice([f"({one} and {other})", f"({one} or {other})", f"not ({one})"])


def functions(seeds: "list[int]", *, raises: bool = True) -> dict[int, Callable[..., Any]]:
    """Functions by seed, from files, so that their source is available."""
    folder = new_folder()
    path = folder / f"control_flow_{seeds[0]}_{len(seeds)}.py"
    path.write_text(
        HEADER + "\n\n".join(ProgramWriter(seed, raises=raises).text(f"f{seed}") for seed in seeds)
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return {seed: getattr(module, f"f{seed}") for seed in seeds}


def arguments(seed: int) -> list[tuple[Any, ...]]:
    """The arguments of several calls, which take several paths."""
    rng = np.random.default_rng(seed)
    return [
        (int(i), int(j), float(x), float(y), rng.normal(size=4), rng.normal(size=4))
        for i, j, x, y in zip(
            rng.integers(0, 7, 4), rng.integers(0, 7, 4), rng.normal(size=4), rng.normal(size=4), strict=True
        )
    ]


def fresh(args: tuple[Any, ...]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def _outcome(function: Callable[..., Any], args: list[Any]) -> Any:
    """The result of a function, or the error that it raises itself."""
    try:
        return function(*args)
    except TracemillError:
        raise
    except ValueError as error:
        return error


def difference(function: Callable[..., Any], seed: int, backend: str) -> str:
    """What is wrong with the compiled function. It begins with "refused" for a named error."""
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in arguments(seed):
        mine, theirs = fresh(args), fresh(args)
        expected = _outcome(function, theirs)
        try:
            found = _outcome(compiled, mine)
        except TracemillError as error:
            return f"refused: {type(error).__name__}: {error.message}"
        if isinstance(found, ValueError) or isinstance(expected, ValueError):
            if type(found) is not type(expected) or found.args != expected.args:
                return f"it gives {found!r}, and in Python {expected!r}, for {args}"
            continue
        for name, x, y in zip(
            (*RESULT.split(", "), "the argument a", "the argument b"),
            (*found, *mine[4:]),
            (*expected, *theirs[4:]),
            strict=True,
        ):
            if np.shape(x) != np.shape(y) or not np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True):
                return f"{name} is {x}, and in Python {y}, for {args}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--backend", choices=["numpy", "c"], default="numpy")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for seed, function in functions(list(range(options.seed, options.seed + options.count))).items():
        found = difference(function, seed, options.backend)
        kinds[
            "right" if not found else found.split(":")[1].strip() if found.startswith("refused") else "wrong"
        ] += 1
        if found:
            print(seed, found[:400], flush=True)
    print(dict(kinds))


if __name__ == "__main__":
    main()
