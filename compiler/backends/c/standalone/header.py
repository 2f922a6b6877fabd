"""The header of an exported function: its parameters, who owns what, which codes it returns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....ir import Extent
from ....symbolic_size import SymbolicSize
from ..layout import comment_line, folded_lines
from ..sizes import size_variable
from .comments import paragraph
from .errors import error_codes
from .signature import CSignature, Parameter
from .size_checks import SizeChecks

ABI: Final = 1
"""The version of the rules below, which the header has as a macro."""

_REAL: Final = {"complex64": "float", "complex128": "double"}

_RULES: Final = """\
Arrays are contiguous, in C order, and aligned for their C type. The caller owns all memory: the function allocates
and keeps nothing. A written array must not overlap with any other argument; arrays that are only read may overlap. An
empty array may be null. Numbers are passed by value, complex ones by pointer. A bool is a byte that is 0 or 1; a
float16 or bfloat16 is passed as its 16 bits.

The workspace has at least {workspace} bytes, with any alignment and content; it may be null if that is 0. Calls may
run at the same time in several threads if they share neither a workspace nor written arrays.

A call on large arrays uses threads of its own, as many as {name}_set_num_threads was given: by default
OMP_NUM_THREADS, otherwise the number of processors that the process may use. Results do not depend on it. The threads
start with the first call that needs them, and sleep between calls.

Returns {macro}_OK, or an error code. If the error is in an argument, nothing has been written.{raised}"""

_CODES: Final = (
    ("OK", ""),
    ("NULL_ARGUMENT", "an array with elements is null"),
    ("NO_WORKSPACE", "the workspace is null, but it is needed"),
    ("SINGULAR", "a matrix is singular, or not positive definite: results that depend on it are NaN"),
)


_SIZES: Final = """\
The named sizes come first. Arrays have the shapes written after them, in Python's syntax: // divides and
rounds down. Other sizes than are allowed have codes of their own, which {name}_message tells, and nothing is written.
"""


_LENGTHS: Final = """\
Values decide how long some results are. The caller's arrays have room for the most that they can be, and the function
writes the lengths to the parameters of their names. The elements after that many are not written.
"""

_RAISED: Final = """

An exception that the Python function would raise is a code, too, and {name}_message has its text. Then the arrays that
are read and overwritten are as they were before the call, and what is written to others has no meaning."""


def header_text(
    signature: CSignature,
    workspace: Extent,
    about: Sequence[str],
    checks: SizeChecks | None,
    codes: Sequence[tuple[str, int, str]],
    most: Mapping[str, Any],
) -> str:
    """The text of ``NAME.h``; `about` are the comments on what the function computes, `codes` what it returns."""
    name, macro = signature.name, signature.macro
    room = workspace_text(signature, checks)
    beside = (
        checks.declarations
        if checks
        else (
            f"// {macro}_WORKSPACE_SIZE, for programs that load the library at run time.\n"
            f"size_t {name}_workspace_size(void);\n"
        )
    )
    if has_message(codes):
        beside += f"\n// What a code means, in English.\nconst char *{name}_message(int code);\n"
    beside += "\n// How many threads calls use from now on; 0 for the default.\n"
    beside += f"void {name}_set_num_threads(int count);\n"
    size = "" if checks else f"#define {macro}_WORKSPACE_SIZE {workspace}  // bytes\n"
    raised = _RAISED.format(name=name) if any("_RAISED_" in code for code, _, _ in codes) else ""
    rules = _RULES.format(name=name, macro=macro, workspace=room, raised=raised)
    if signature.lengths:
        rules = f"{_LENGTHS}\n{rules}"
    if checks:
        rules = f"{_SIZES.format(name=name)}\n{rules}"
    parts = [
        "\n//\n".join(about) + "\n",
        f"#ifndef {macro}_H\n#define {macro}_H\n",
        _includes(signature),
        f"#define {macro}_ABI {ABI}  // the rules below\n{size}",
        "".join(_dimensions(signature, parameter) for parameter in signature.parameters),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        _enumeration(codes),
        f"{paragraph(rules)}\n//\n{paragraph(_example(signature, checks))}\n{_declaration(signature, checks, most)}\n",
        beside,
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif  // {macro}_H\n",
    ]
    return "\n".join(part for part in parts if part)


def codes(
    macro: str, checks: SizeChecks | None, errors: Sequence[str], *, may_fail: bool
) -> list[tuple[str, int, str]]:
    """The return codes: names, numbers, and their meanings."""
    found = [(f"{macro}_{name}", number, said) for number, (name, said) in enumerate(_CODES)]
    too_long = [
        (f"{macro}_TOO_LONG", 5, "an array is longer than its maximum; what is written is meaningless")
    ]
    return [
        *(found if may_fail else found[:-1]),
        *(checks.codes if checks else []),
        *(too_long if checks and checks.maxima else []),
        *error_codes(macro, errors),
    ]


def has_message(codes: Sequence[tuple[str, int, str]]) -> bool:
    """Whether there are codes of sizes or errors, which a function explains."""
    return any(number >= len(_CODES) for _, number, _ in codes)


def _enumeration(codes: Sequence[tuple[str, int, str]]) -> str:
    lines = [
        f"    {name} = {number},{f'  {comment_line(said)}' if said else ''}\n" for name, number, said in codes
    ]
    return f"enum {{\n{''.join(lines)}}};\n"


def workspace_text(signature: CSignature, checks: SizeChecks | None) -> str:
    """The bytes of the workspace, in C."""
    if checks is None:
        return f"{signature.macro}_WORKSPACE_SIZE"
    return f"{signature.name}_workspace_size({checks.arguments})"


def _includes(signature: CSignature) -> str:
    text = "#include <stddef.h>\n#include <stdint.h>\n"
    used = [name for name in _REAL if any(p.type.dtype.name == name for p in signature.parameters)]
    if not used:
        return text
    cpp = "".join(
        f"typedef std::complex<{_REAL[used_name]}> {signature.name}_{used_name};\n" for used_name in used
    )
    c = "".join(f"typedef {_REAL[used_name]} _Complex {signature.name}_{used_name};\n" for used_name in used)
    return f"{text}\n#ifdef __cplusplus\n#include <complex>\n{cpp}#else\n{c}#endif\n"


def _dimensions(signature: CSignature, parameter: Parameter) -> str:
    """Macros of the lengths of an array's axes, and of its number of elements."""
    if not parameter.type.shape:
        return ""
    stem = dimension_stem(signature, parameter)
    known = [
        (axis, size) for axis, size in enumerate(parameter.type.shape) if not isinstance(size, SymbolicSize)
    ]
    lines = [f"#define {stem}_DIM{axis} {size}\n" for axis, size in known]
    if not isinstance(parameter.elements, SymbolicSize):
        at_most = "  // at most" if parameter.is_found else ""
        lines.append(f"#define {stem}_SIZE {parameter.elements}{at_most}\n")
    return "".join(lines)


def dimension_stem(signature: CSignature, parameter: Parameter) -> str:
    """The prefix of a parameter's macros; parameters whose names differ only in case keep their names."""
    alike = [p.name.upper() for p in signature.parameters].count(parameter.name.upper())
    return f"{signature.macro}_{parameter.name.upper() if alike == 1 else parameter.name}"


def element_text(signature: CSignature, parameter: Parameter) -> str:
    """The type of the elements in the header."""
    dtype = parameter.type.dtype
    return f"{signature.name}_{dtype.name}" if dtype.kind == "c" else parameter.element


def declared(signature: CSignature, parameter: Parameter) -> str:
    """A parameter's declaration."""
    element = element_text(signature, parameter)
    if parameter.by_value:
        return f"{element} {parameter.name}"
    return f"{'' if parameter.is_written else 'const '}{element} *{parameter.name}"


def _declaration(signature: CSignature, checks: SizeChecks | None, most: Mapping[str, Any]) -> str:
    rows = (
        [(f"int64_t {size_variable(name)},", checks.said_of(name)) for name in checks.names] if checks else []
    )
    given = (*signature.inputs, *signature.outputs)
    rows += [(f"{declared(signature, p)},", f"{p.path}: {p.type}, {p.use}") for p in given]
    rows += [
        (f"{declared(signature, p)},", f"{p.path}: {p.type}, {p.use}, at most {most[p.path]}")
        for p in signature.lengths
    ]
    rows.append(("void *workspace", f"{workspace_text(signature, checks)} bytes"))
    width = max(len(code) for code, _ in rows)
    lines = [f"    {code:{width}}  {paragraph(said)}" for code, said in rows]
    return "\n".join([f"int {signature.name}(", *lines, ");"])


def _example(signature: CSignature, checks: SizeChecks | None) -> str:
    lines = ["For example:", ""]
    arguments: list[str] = [checks.arguments] if checks else []
    for parameter in signature.parameters:
        element, name = element_text(signature, parameter), parameter.name
        if parameter.by_value:
            lines.append(f"    {element} {name} = 1;")
        elif checks and name in dict(checks.counts):
            count = f"{signature.name}_{name}_size({checks.arguments})"
            lines.append(f"    {element} *{name} = malloc({count} * sizeof *{name});")
        elif parameter.type.shape:
            lines.append(f"    static {element} {name}[{dimension_stem(signature, parameter)}_SIZE];")
        else:
            lines.append(f"    {element} {name};")
        is_pointer = parameter.by_value or parameter.type.shape
        arguments.append(name if is_pointer else f"&{name}")
    lines += [
        f"    void *workspace = malloc({workspace_text(signature, checks)});",
        f"    int code = {signature.name}({', '.join([*arguments, 'workspace'])});",
    ]
    lines[-1] = folded_lines(lines[-1])
    return "\n".join(lines)
