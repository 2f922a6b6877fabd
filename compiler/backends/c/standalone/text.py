"""The C file of an exported program: the functions of the backend, and the exported one, which calls them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Final

from ....affine import same
from ....analysis.memory_plan import ALIGNMENT, aligned
from ....ir import Extent
from ....symbolic_size import is_known, is_none
from ..function import CFunction
from ..module.graph import TOO_LONG, GraphFunction
from ..module.source import functions_text
from ..sizes import factor_text, size_text, size_variable
from ..steps.matrices import FAILED
from ..threads.pool_text import CALL, pool_without_python
from .constants import NamedConstant
from .errors import c_string
from .header import codes, declared, has_message
from .signature import CSignature, Parameter
from .size_checks import SizeChecks

_BEFORE: Final = """\
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // for vectors, if -fopenmp-simd is not given
#pragma GCC diagnostic ignored "-Wunused-parameter"  // all functions take the number of threads
#pragma GCC diagnostic ignored "-Wunused-variable"  // products that are not of stacks have a place in one
#endif
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"  // it runs fewer loops on vectors than gcc
#endif

// glibc's vector versions of mathematical functions; gcc calls them if they are declared.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)  // has all of them
#define TM_VECTOR_MATH
#endif
#endif
"""

_THREADS: Final = Template("""\
static atomic_int threads_that_are_set;

static long threads_to_use(void)
{
    const int set = atomic_load(&threads_that_are_set);
    if (set > 0)
        return set;
    const int usual = tm_usual_threads();
    atomic_store(&threads_that_are_set, usual);
    return usual;
}

void ${name}_set_num_threads(int count)
{
    atomic_store(&threads_that_are_set, count < TM_MOST_THREADS ? count : TM_MOST_THREADS);
}
""")

_ONE_THREAD: Final = Template("""\
static long threads_to_use(void)
{
    return 1;  // there is too little work for more
}

void ${name}_set_num_threads(int count)
{
    (void)count;
}
""")


@dataclass(frozen=True, slots=True)
class Exported:
    """The function of a program's graph, and how the exported one calls it."""

    signature: CSignature
    found: GraphFunction
    overwritten: Sequence[tuple[int, int]]
    """Inputs whose memory holds an output afterwards: which holds which."""
    constants: Sequence[NamedConstant]
    """The parameters of the function after the inputs of the signature."""
    errors: Sequence[str] = ()
    """The messages of the errors that the last output of the graph says are to be raised."""

    @property
    def function(self) -> CFunction:
        return self.found.function

    @property
    def work_bytes(self) -> Extent:
        """The workspace of the function."""
        return sum(type.nbytes for type in self.function.outputs[self._count :])

    @property
    def may_fail(self) -> bool:
        """Whether it may meet a matrix that it cannot factor."""
        return FAILED in self.function.text

    @property
    def _count(self) -> int:
        """How many arrays it writes."""
        given = len(self.signature.outputs) + len(self.overwritten) + len(self.signature.lengths)
        return given + bool(self.errors)

    def codes(self, checks: SizeChecks | None) -> list[tuple[str, int, str]]:
        """The return codes: names, numbers, and their meanings."""
        return codes(self.signature.macro, checks, self.errors, may_fail=self.may_fail)

    @property
    def held(self) -> dict[int, Extent]:
        """The outputs that are copied to an input afterwards, and their offsets in the workspace until then."""
        places: dict[int, Extent] = {}
        end = aligned(self.work_bytes)
        for _, output in self.overwritten:
            if output not in self.found.in_place:
                places[output] = end
                end += aligned(self.function.outputs[output].nbytes)
        return places

    @property
    def workspace(self) -> Extent:
        """The bytes of the caller's workspace, including those up to the next cache line."""
        needed = aligned(self.work_bytes) + sum(aligned(self.function.outputs[k].nbytes) for k in self.held)
        return 0 if same(needed, 0) else needed + ALIGNMENT

    def text(self, heading: str, checks: SizeChecks | None = None) -> str:
        """The file; `checks` are those of the named sizes, if there are any."""
        name = self.signature.name
        declarations = "".join(f"extern {constant.declaration};\n" for constant in self.constants)
        shares = CALL in self.function.text
        threads = (_THREADS if shares else _ONE_THREAD).substitute(name=name)
        whole = replace(self.function, text="\n".join([self.function.text, threads, self._exported(checks)]))
        parts = [
            heading,
            *["#define _GNU_SOURCE  // for the threads\n"] * shares,
            f'#include "{name}.h"\n',
            _BEFORE,
            *([f"// In {name}_constants.c.\n{declarations}"] if declarations else []),
            functions_text([whole], pool=pool_without_python()),
        ]
        return "\n".join(parts)

    def _exported(self, checks: SizeChecks | None) -> str:
        signature, macro = self.signature, self.signature.macro
        taken = [*(declared(signature, p) for p in signature.parameters), "void *workspace"]
        parameters = ", ".join([*([checks.parameters] if checks else []), *taken])
        missing = [_is_missing(p) for p in signature.parameters if not (p.by_value or is_none(p.elements))]
        lines: list[str] = []
        if checks:
            lines += [
                f"    const int sizes = {signature.name}_check_sizes({checks.arguments});",
                f"    if (sizes != {macro}_OK)\n        return sizes;",
            ]
        if missing:
            lines += [f"    if ({' || '.join(missing)})", f"        return {macro}_NULL_ARGUMENT;"]
        if not same(self.workspace, 0):
            aligned = f"((uintptr_t)workspace + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT}"
            lines += [
                f"    if (!workspace)\n        return {macro}_NO_WORKSPACE;",
                f"    uint8_t *const work = (uint8_t *)({aligned});",
            ]
        else:
            lines.append("    (void)workspace;")
        if self.may_fail:
            lines.append(f"    {FAILED} = false;")
        if checks and checks.maxima:
            lines.append(f"    {TOO_LONG} = false;")
        if self.errors:
            lines.append(f"    int64_t errors[{self.function.outputs[self._count - 1].size}];")
        lines.append(f"    {self.function.name}({', '.join(self._arguments())});")
        if checks and checks.maxima:
            lines.append(f"    if ({TOO_LONG})\n        return {macro}_TOO_LONG;")
        if self.errors:
            lines += [
                f"    for (int i = 0; i < {len(self.errors)}; i++) {{",
                "        if (errors[i] != INT64_MIN)",
                f"            return {macro}_RAISED_1 + i;",
                "    }",
            ]
        for given, output in self.overwritten:
            nbytes = self.function.outputs[output].nbytes
            if output in self.held and not is_none(nbytes):
                source = f"work + {factor_text(self.held[output])}"
                lines.append(f"    memcpy({signature.inputs[given].name}, {source}, {size_text(nbytes)});")
        lines.append(f"    return {f'{FAILED} ? {macro}_SINGULAR : ' if self.may_fail else ''}{macro}_OK;")
        return "\n".join([self._before(checks), f"int {signature.name}({parameters})\n{{", *lines, "}\n"])

    def _before(self, checks: SizeChecks | None) -> str:
        """The functions other than the computing one."""
        name, macro = self.signature.name, self.signature.macro
        text = f"size_t {name}_workspace_size(void)\n{{\n    return {macro}_WORKSPACE_SIZE;\n}}\n"
        found = self.codes(checks)
        return "\n".join(
            [checks.definitions if checks else text, *([_message(name, found)] * has_message(found))]
        )

    def _arguments(self) -> list[str]:
        inputs = [f"&{p.name}" if p.by_value else p.name for p in self.signature.inputs]
        arguments = [*map(size_variable, self.function.sizes), *inputs]
        arguments += [constant.name for constant in self.constants]
        arguments += [p.name for p in self.signature.outputs]
        for given, output in self.overwritten:
            name = self.signature.inputs[given].name
            type = self.signature.inputs[given].element
            held = self.held.get(output)
            arguments.append(name if held is None else f"({type} *)(work + {factor_text(held)})")
        arguments += [p.name for p in self.signature.lengths]
        arguments += ["errors"] * bool(self.errors)
        if not same(self.work_bytes, 0):
            arguments.append("work")
        return [*arguments, "threads_to_use()"]


def _message(name: str, codes: Sequence[tuple[str, int, str]]) -> str:
    """The function that explains codes."""
    said = [(code, text or "it has run") for code, _, text in codes]
    cases = "".join(f"    case {code}:\n        return {c_string(text)};\n" for code, text in said)
    return (
        f"const char *{name}_message(int code)\n{{\n    switch (code) {{\n{cases}"
        '    default:\n        return "no code of this function";\n    }\n}\n'
    )


def _is_missing(parameter: Parameter) -> str:
    """Whether an array with elements is null."""
    size, name = parameter.elements, parameter.name
    return f"!{name}" if is_known(size > 0) else f"({size_text(size)} > 0 && !{name})"
