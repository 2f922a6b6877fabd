"""Random programs about memory layout: views, copies, and writes through any name, checked against NumPy.

    python tests/numpy_surface/layout/layout_programs.py --seed 0 --count 200 --backend c

prints each program that differs from NumPy, shrunk, as a script that runs by itself.
"""

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

if __name__ == "__main__":  # as a script, which pytest does not set up
    sys.path[:0] = [str(Path(__file__).parents[2] / ".root"), str(Path(__file__).parents[2])]

import numpy as np

import tracemill as tm
from numpy_surface.layout.layout_statements import (
    CASTS,
    FAMILIES,
    WRITES,
    Draw,
    NoOperandError,
    differentiable,
    sizeless,
)
from support.source import with_source

RUNS = ("numpy", "c", "jvp")
"""How Tracemill runs a program: compiled by a backend, or not compiled, as the primal of a `jvp`."""

RTOL = {"f": 1e-9, "c": 1e-9}
MOST_SMALL, MOST_LARGE = 4_000, 2_000_000
"""The most elements that an array of a program may have."""


@contextmanager
def quiet() -> Generator[None]:
    """Without the warnings about values that NumPy gives while it runs a program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Argument:
    """An argument as a view of a base array; in the code `view`, ``base`` is that array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    """Of the base."""
    view: str
    seed: int

    @property
    def base(self) -> str:
        """The code that makes the base: multiples of 1/8, so that sums are exact in any order."""
        draw = f"np.random.default_rng({self.seed}).integers"
        if self.dtype == "?":
            return f"np.array({draw}(0, 2, {self.shape}), dtype=bool)"
        if self.dtype == "i8":
            return f"np.array({draw}(-9, 10, {self.shape}))"
        unit = 0.125 + 0.25j if self.dtype == "c16" else 0.125
        return f"np.array({draw}(-40, 41, {self.shape}) * {unit}, dtype={self.dtype!r})"


@dataclass(frozen=True)
class Program:
    """A function as source text, and its arguments."""

    arguments: tuple[Argument, ...]
    statements: tuple[str, ...]
    returned: tuple[str, ...]
    templates: tuple[str, ...]
    """Which template each statement comes from."""

    @property
    def source(self) -> str:
        """``program``, and ``arguments``, which makes new ones and the base arrays that they are views of."""
        names = [argument.name for argument in self.arguments]
        lines = ["def arguments():", *(f"    base_{a.name} = {a.base}" for a in self.arguments)]
        views = [a.view.replace("base", f"base_{a.name}") for a in self.arguments]
        bases = [f"base_{name}" for name in names]
        lines += [f"    return [{', '.join(views)}], [{', '.join(bases)}]", ""]
        lines += [f"def program({', '.join(names)}):", *(f"    {s}" for s in self.statements)]
        lines += [f"    return [{', '.join(self.returned)}]", ""]
        return "\n".join(lines)

    def script(self, run: str) -> str:
        """A script that shows what NumPy and Tracemill make of the program."""
        call = "tm.jvp(program, args, [np.zeros_like(x) for x in args])[0]"
        if run != "jvp":
            call = f"tm.compile(program, backend={run!r})(*args)"
        return (
            f"import numpy as np\nimport tracemill as tm\n\n{self.source}\n"
            f"args, bases = arguments()\nprint(program(*args), bases)\n"
            f"args, bases = arguments()\nprint({call}, bases)\n"
        )

    def defined(self) -> tuple[Callable[..., Any], Callable[[], Any]]:
        """The function, and what makes its arguments."""
        names: dict[str, Any] = {"np": np}
        exec(compile(self.source, with_source(self.source), "exec"), names)
        return names["program"], names["arguments"]

    def relaid(self) -> "Program":
        """The same with contiguous arguments of the same shapes, in the order that they do not have now."""
        _, arguments = self.defined()
        changed = []
        for argument, value in zip(self.arguments, arguments()[0], strict=True):
            view = "base" if value.flags.f_contiguous or value.ndim < 2 else "base.T"
            shape = value.shape if view == "base" else value.shape[::-1]
            changed.append(replace(argument, shape=shape, view=view))
        return replace(self, arguments=tuple(changed))

    def renamed(self, number: int) -> "Program":
        """The same with a number at the end of every name."""

        def changed(text: str) -> str:
            return re.sub(r"\b([abc]|v\d+)\b", rf"\1_{number}", text)

        return replace(
            self,
            arguments=tuple(replace(a, name=changed(a.name)) for a in self.arguments),
            statements=tuple(map(changed, self.statements)),
            returned=tuple(map(changed, self.returned)),
        )

    def statement_at(self, line: int) -> int | None:
        """The statement in a line of the source, counted from 1."""
        place = line - len(self.arguments) - 5
        return place if 0 <= place < len(self.statements) else None


# ---- Drawing programs --------------------------------------------------------------------------------


def draw_argument(
    rng: Random, name: str, shape: tuple[int, ...], dtype: str, layouts: Sequence[str]
) -> Argument:
    """An argument of a shape, in one of the layouts that its number of axes allows."""
    rank, seed = len(shape), rng.randrange(1000)
    view = rng.choice([x for x in layouts if rank >= AXES[x]])
    base = list(shape)
    if view == "base[1, ...]":
        base = [3, *shape]
    elif view == "transpose":
        axes = rng.sample(range(rank), rank)
        view = f"base.transpose{tuple(axes)}"
        for axis, n in zip(axes, shape, strict=True):
            base[axis] = n
    elif view == "broadcast_to":
        view = f"np.broadcast_to(base, {shape})"
        base[rng.randrange(rank)] = 1
    elif view == "base[::-1, 1:].T":
        base = [*reversed(shape)]
        base[1] += 1
    elif view == "base[:, 1:-1]":
        base[1] += 2
    elif view == "base[::2]":
        base[0] *= 2
    elif view == "base.T":
        base.reverse()
    return Argument(name, dtype, tuple(base), view, seed)


def draw_shapes(rng: Random, large: bool) -> Iterator[tuple[int, ...]]:
    """Shapes of which most broadcast with each other."""
    if large:
        first = rng.choice([(400, 300), (300, 700), (40, 50, 60), (100, 20, 70), (200_000,), (100_000, 2)])
    else:
        rank = rng.choice((0, 1, 2, 2, 2, 2, 3, 3, 3))
        first = tuple(rng.choice((1, 2, 2, 3, 3, 3, 4, 5)) for _ in range(rank))
        if rank and rng.random() < 0.05:
            first = (*first[1:], 0)
    while True:
        yield rng.choice(
            [first] * 5 + [first[::-1], first[1:], tuple(1 if n == first[0] else n for n in first)]
        )


AXES = {
    "base": 0, "base[1, ...]": 0, "base[::2]": 1, "base[::-1]": 1, "broadcast_to": 1, "base.T": 2, "transpose": 2,
    "base[:, 1:-1]": 2, "base[::-1, 1:].T": 2,
}  # fmt: skip
"""The layouts of arguments, and how many axes each needs."""


@dataclass(frozen=True)
class Draft:
    """What programs are drawn from."""

    dtypes: tuple[str, ...] = ("f8", "f8", "f8", "f4", "i8", "c16", "?")
    casts: tuple[str, ...] = CASTS
    layouts: tuple[str, ...] = (*AXES, "base", "base.T")
    families: tuple[tuple[str, ...], ...] = FAMILIES
    large: bool = False


ANY, LARGE = Draft(), Draft(large=True)
SMOOTH_ARGUMENTS = Draft(dtypes=("f8", "f8", "f4", "c16"))
DIFFERENTIABLE = Draft(("f8",), ("np.float64",), families=tuple(map(differentiable, FAMILIES)))
IN_C_ORDER = Draft(("f8",), layouts=("base",))
ANY_SIZE = Draft(
    layouts=("base", "base[::-1]", "base.T", "transpose"), families=tuple(map(sizeless, FAMILIES))
)
OF_RUN = {"jvp": SMOOTH_ARGUMENTS}


@quiet()
def draw_program(rng: Random, draft: Draft = ANY) -> Program:
    """A program of 3 to 12 statements that NumPy runs."""
    shapes, large = draw_shapes(rng, draft.large), draft.large
    main = rng.choice(draft.dtypes)
    arguments = tuple(
        draw_argument(
            rng,
            name,
            next(shapes),
            main if rng.random() < 0.7 else rng.choice(draft.dtypes),
            draft.layouts,
        )
        for name in "abc"[: rng.randint(1, 3)]
    )
    program = Program(arguments, (), (), ())
    live, wanted = dict[str, Any](), rng.randint(3, 12)
    for turn in range(4 * wanted):
        if len(program.statements) == wanted:
            break
        live = live or live_after(program, large)
        family = rng.choice(draft.families)
        template = rng.choice(family)
        new = f"v{turn}"
        try:
            statement = Draw(rng, live, new, draft.casts).fill(template)
        except NoOperandError:
            continue
        if not set(family) <= set(WRITES) and "{new}" not in template:
            statement = f"{new} = {statement}"
        longer = replace(
            program,
            statements=(*program.statements, statement),
            templates=(*program.templates, template),
        )
        if not stepped(live, statement, large):
            live = {}
            continue
        program = longer
        if new in live:
            program = replace(program, returned=(*program.returned, new))
    return program


def live_after(program: Program, large: bool) -> dict[str, Any]:
    """The names of the program and their values."""
    _, arguments = program.defined()
    live = dict(zip([a.name for a in program.arguments], arguments()[0], strict=True))
    for statement in program.statements:
        assert stepped(live, statement, large), program.source
    return live


def stepped(live: dict[str, Any], statement: str, large: bool) -> bool:
    """Run a statement, unless NumPy refuses it or values leave the range in which sums are exact."""
    names = {"np": np, **live}
    try:
        exec(statement, names)
    except Exception:  # whatever NumPy raises
        return False
    live.update({name: names[name] for name in names if name not in {"np", "__builtins__", "_"}})
    return all(
        isinstance(value, np.ndarray | np.generic)
        and value.size <= (MOST_LARGE if large else MOST_SMALL)
        and value.dtype.kind in "fiucb"
        and bool(np.all(np.abs(value) < 1e5))
        for value in live.values()
    )


# ---- Running and comparing them ----------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """How a run of a program is not NumPy's."""

    kind: str
    """A few words, the same for all programs that fail in the same way."""
    text: str
    statement: int | None = None
    """The statement that was refused."""
    refused: bool = False
    """By an error that says so, rather than by wrong results."""


def examine(program: Program, run: str, order: bool = True) -> Finding | None:
    """What is wrong with a run of the program, and with one for arguments in other layouts after it.

    `order` says whether the memory order of results counts, besides values.
    """
    function, _ = program.defined()
    compiled = tm.compile(function, backend=run) if run != "jvp" else as_primal(function)
    finding = compared(program, compiled, run, order)
    if finding is None and run != "jvp":
        other = program.relaid()
        finding = compared(other, compiled, run, order)
        if finding is not None and not finding.refused:
            alone = compared(other, tm.compile(other.defined()[0], backend=run), run, order)
            if alone is None:
                finding = replace(finding, kind=f"{finding.kind} after other layouts")
            else:
                finding = replace(alone, kind=f"{alone.kind} if relaid")
    return finding


def examine_together(programs: Sequence[Program], run: str, order: bool = True) -> list[Finding | None]:
    """What is wrong with each program, all compiled as one. That takes less time: a compiler starts only once."""
    together = joined(programs)
    compiled = tm.compile(together.defined()[0], backend=run)
    others = joined([other if runs(other := program.relaid()) else program for program in programs])
    finding = compared(together, compiled, run, order) or compared(others, compiled, run, order)
    if finding is None:
        return [None] * len(programs)
    alone = [examine(program, run, order) for program in programs]
    return alone if any(alone) else [replace(finding, kind=f"{finding.kind} together"), *alone[1:]]


def joined(programs: Iterable[Program]) -> Program:
    """One program that runs all of them, each on arguments of its own."""
    parts = [program.renamed(number) for number, program in enumerate(programs)]
    return Program(
        tuple(argument for part in parts for argument in part.arguments),
        tuple(statement for part in parts for statement in part.statements),
        tuple(name for part in parts for name in part.returned),
        tuple(template for part in parts for template in part.templates),
    )


def as_primal(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as the primal of a `jvp`."""

    def primal(*args: Any) -> Any:
        return tm.jvp(function, args, tuple(np.zeros_like(x) for x in args))[0]

    return primal


def compared(program: Program, run_function: Callable[..., Any], run: str, order: bool) -> Finding | None:
    """How the results differ from those of NumPy on equal arguments in the same layout."""
    function, arguments = program.defined()
    (args, bases), (our_args, our_bases) = arguments(), arguments()
    with quiet():
        try:
            expected = function(*args)
        except Exception as error:  # arguments in another layout: NumPy refuses them
            return refusal_finding(error, lambda: run_function(*our_args))
        try:
            results = run_function(*our_args)
        except Exception as error:
            return error_finding(program, error)
    for name, ours, theirs in zip(program.returned, results, expected, strict=True):
        others = [x for x in expected if x is not theirs]
        shared = any(np.may_share_memory(theirs, x) for x in (*bases, *others))
        if problem := difference(ours, theirs, shared, order):
            return Finding(
                problem[0], f"{name}: {problem[1]}\nexpected {shown(theirs)}\nfound    {shown(ours)}"
            )
    if run != "jvp":  # which leaves arguments alone
        for argument, ours, theirs in zip(program.arguments, our_bases, bases, strict=True):
            if other := different_values(ours, theirs):
                text = f"base_{argument.name}: {other}\nexpected {shown(theirs)}\nfound    {shown(ours)}"
                return Finding("argument", text)
        for name, ours in zip(program.returned, results, strict=True):
            if any(np.may_share_memory(ours, base) for base in our_bases):
                return Finding("shared", f"{name} shares memory with an argument")
    return None


def refusal_finding(error: Exception, run: Callable[[], Any]) -> Finding | None:
    """What is wrong with a run that NumPy refuses: it has to raise an error that says so, too."""
    try:
        run()
    except type(error):
        return None
    except Exception as found:
        return Finding("another error", f"{found!r} instead of {error!r}")
    return Finding("no error", f"NumPy raises {error!r}")


def error_finding(program: Program, error: Exception) -> Finding:
    """A refusal if the error is a named one, and a crash if not."""
    place, location = None, getattr(error, "location", None)
    lines = [location.line] if location is not None and location.file == "<program>" else []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<program>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    if lines:
        place = program.statement_at(lines[-1])
    named = isinstance(error, tm.TracemillError) and not isinstance(error, tm.errors.InternalError)
    message = str(error).splitlines()[0] if str(error) else ""
    kind = type(error).__name__ if named else f"crash {type(error).__name__}"
    return Finding(kind, f"{type(error).__name__}: {message}", place, refused=named)


def difference(ours: Any, theirs: Any, shared: bool, order: bool) -> tuple[str, str] | None:
    """What differs between two results, as a kind and a text."""
    if isinstance(ours, np.ndarray) != isinstance(theirs, np.ndarray):
        return "type", f"{type(ours).__name__} for {type(theirs).__name__}"
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return "type", f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
    if problem := different_values(ours, theirs):
        return "values", problem
    return different_order(ours, theirs, shared) if order and theirs.size else None


def different_order(ours: Any, theirs: Any, shared: bool) -> tuple[str, str] | None:
    """What differs between the orders of two results in memory.

    Where NumPy's result is a view (`shared`), ours is a copy in the same order. Nothing says where axes along which a
    view repeats itself go.
    """
    repeated = [axis for axis, step in enumerate(theirs.strides) if step == 0]
    in_memory, expected = (
        [axis for axis in memory_order(x) if axis not in repeated]
        for x in (ours, theirs if theirs.flags.forc else theirs.copy(order="K"))
    )
    if in_memory != expected:
        return "order", f"axes in memory {in_memory} for {expected}"
    # Of one axis, ours may be a view of the memory in which it was computed: np.correlate flips it, for example.
    if theirs.ndim > 1 and not shared and theirs.flags.forc and not ours.flags.forc:
        return "order", f"strides {ours.strides} for {theirs.strides}"
    return None


def different_values(ours: Any, theirs: Any) -> str | None:
    """What differs between values, but for rounding."""
    kind = theirs.dtype.kind
    if kind not in RTOL:
        return None if np.array_equal(ours, theirs) else "values differ"
    rtol = RTOL[kind] if theirs.dtype.itemsize > 4 else 1e-4
    scale = float(np.max(np.abs(theirs), initial=1.0))
    close = np.allclose(ours, theirs, rtol=rtol, atol=rtol * scale, equal_nan=True)
    return None if close else "values differ"


def memory_order(array: Any) -> list[int]:
    """The axes of more than one element, the one with the longest stride first."""
    axes = [axis for axis, n in enumerate(array.shape) if n > 1]
    return sorted(axes, key=lambda axis: -abs(array.strides[axis]))


def shown(array: Any) -> str:
    return f"{np.array2string(np.asarray(array), threshold=60).replace(chr(10), ' ')} strides {array.strides}"


# ---- Shrinking ---------------------------------------------------------------------------------------


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program with as few statements, results and arguments as fail in the same way."""
    while smaller := next(filter(fails, filter(runs, smaller_programs(program))), None):
        program = smaller
    return program


def smaller_programs(program: Program) -> Iterator[Program]:
    """The program without something."""
    for place in reversed(range(len(program.statements))):
        kept = [i for i in range(len(program.statements)) if i != place]
        name = program.statements[place].partition(" = ")[0]
        yield replace(
            program,
            statements=tuple(program.statements[i] for i in kept),
            templates=tuple(program.templates[i] for i in kept),
            returned=tuple(x for x in program.returned if x != name),
        )
    for name in program.returned:
        yield replace(program, returned=tuple(x for x in program.returned if x != name))
    for argument in program.arguments:
        if argument.view != "base":
            yield replace(program, arguments=tuple(a for a in program.arguments if a != argument))
            _, arguments = program.defined()
            value = arguments()[0][program.arguments.index(argument)]
            plain = replace(argument, view="base", shape=value.shape)
            yield replace(program, arguments=tuple(plain if a == argument else a for a in program.arguments))
        else:
            yield replace(program, arguments=tuple(a for a in program.arguments if a != argument))


def runs(program: Program) -> bool:
    """Whether NumPy runs the program."""
    if not program.arguments:
        return False
    try:
        function, arguments = program.defined()
        with quiet():
            function(*arguments()[0])
    except Exception:  # a name is missing, or NumPy refuses what is left
        return False
    return True


# ---- Many programs -----------------------------------------------------------------------------------


class Found(NamedTuple):
    """What is found in a program of a seed."""

    seed: int
    program: Program
    finding: Finding


def survey(seeds: Iterable[int], draft: Draft, check: Callable[[Program], Finding | None]) -> list[Found]:
    """What `check` finds in the programs of the seeds."""
    programs = ((seed, draw_program(Random(seed), draft)) for seed in seeds)
    findings = ((seed, program, check(program)) for seed, program in programs)
    return [Found(seed, program, finding) for seed, program, finding in findings if finding is not None]


def survey_together(seeds: Sequence[int], size: int, draft: Draft, run: str, order: bool) -> list[Found]:
    """What is found in the programs of the seeds, `size` of which are compiled as one."""
    found = []
    for first in range(0, len(seeds), size):
        some = seeds[first : first + size]
        programs = [draw_program(Random(seed), draft) for seed in some]
        findings = examine_together(programs, run, order)
        drawn = zip(some, programs, findings, strict=True)
        found += [Found(seed, program, finding) for seed, program, finding in drawn if finding is not None]
    return found


def refusals(found: Iterable[Found]) -> list[str]:
    """How often which template was refused for which reason."""
    reasons = Counter[str]()
    for _, program, finding in found:
        if finding.refused:
            template = program.templates[finding.statement] if finding.statement is not None else "?"
            reasons[f"{template}  {without_types(finding.text)}"] += 1
    return [f"{times:5} {reason}" for reason, times in reasons.most_common()]


def without_types(text: str) -> str:
    """A message without the dtypes and shapes in it, so that equal reasons are counted together."""
    return re.sub(r"\b(bool|[biufc]\d+)\[[\d, ]*\]", "…", text)


# ---- The command line --------------------------------------------------------------------------------


def report(program: Program, run: str, finding: Finding, order: bool = True) -> str:
    """A failing program, shrunk, as a script, and what is wrong with it."""

    def fails(smaller: Program) -> bool:
        found = examine(smaller, run, order)
        return found is not None and found.kind == finding.kind

    smallest = shrunk(program, fails)
    found = examine(smallest, run, order) or finding
    if "relaid" in found.kind:
        smallest = smallest.relaid()
    return f"{smallest.script(run)}\n# {found.kind}: " + found.text.replace("\n", "\n# ")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--backend", choices=RUNS, default="numpy")
    parser.add_argument("--large", action="store_true", help="arrays of 10^5 elements")
    parser.add_argument(
        "--most", type=int, default=20, help="print that many failing programs, and count the others"
    )
    parser.add_argument(
        "--together", type=int, default=1, help="compile that many programs as one (not with jvp)"
    )
    parser.add_argument("--values", action="store_true", help="compare values alone, not their memory order")
    parser.add_argument("--refused", action="store_true", help="print programs that are refused, too")
    parser.add_argument("--whole", action="store_true", help="do not shrink")
    given = parser.parse_args()
    draft = LARGE if given.large else OF_RUN.get(given.backend, ANY)
    seeds = range(given.seed, given.seed + given.count)
    if given.together > 1:
        found = survey_together(seeds, given.together, draft, given.backend, not given.values)
    else:
        found = survey(seeds, draft, lambda program: examine(program, given.backend, not given.values))
    shown_findings = [x for x in found if given.refused or not x.finding.refused]
    for seed, program, finding in shown_findings[: given.most]:
        print(f"# ---- seed {seed}, {given.backend}: {finding.kind}", flush=True)
        if given.whole:
            print(program.script(given.backend), f"# {finding.text}")
        else:
            print(report(program, given.backend, finding, not given.values), "\n")
    kinds = Counter(x.finding.kind for x in found if not x.finding.refused)
    print(
        f"{given.count} programs, {kinds.total()} differ {dict(kinds)}, {len(found) - kinds.total()} refused"
    )
    print(*refusals(found), sep="\n")


if __name__ == "__main__":
    main()
