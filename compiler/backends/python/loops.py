"""Loops as statements: a `for` or `while` around a call of the function that runs one step."""

from collections.abc import Iterator, Sequence

from ...ir import Call, Extent, Value
from ...ops.control.loop_params import scan_params, while_params
from ...symbolic_size import SymbolicSize
from .form import form
from .module import Nested, Scope
from .nested import operand_text, run_text
from .text import assigned_tuple


def _own(value: Value, scope: Scope) -> str:
    """The carry first, in memory that the steps may write to."""
    return f"{operand_text(value, scope)}.copy()" if value.ndim else operand_text(value, scope)


def _arrays(carried: Sequence[Value], consts: int) -> tuple[int, ...]:
    """The inputs of a step that are carried arrays."""
    return tuple(consts + i for i, value in enumerate(carried) if value.ndim)


@form("scan")
def _scan(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Results are stacked in arrays that are allocated before the loop; each step returns its own memory."""
    graph, length, consts, carried, reverse, unroll = scan_params(call)
    outer = [operand_text(value, scope) for value in call.inputs[:consts]]
    init = call.inputs[consts : consts + carried]
    xs = [scope.array(value) for value in call.inputs[consts + carried :]]
    given = [_own(value, scope) for value in init]
    owned = _arrays(init, consts)
    names = scope.name_outputs(call)
    carry, stacks = names[:carried], names[carried:]
    nested = Nested(graph, owned, own_results=carried)
    lines = [f"    {name} = {text}" for name, text in zip(carry, given, strict=True)]
    lines += [
        f"    {name} = np.empty({scope.type(value.type)})"
        for name, value in zip(stacks, call.outputs[carried:], strict=True)
    ]
    results = [scope.names.numbered("result") for _ in stacks]
    counter = scope.names.claim("i") if isinstance(length, SymbolicSize) or length > 1 else ""
    loops = _iterations(counter, length, reverse, unroll, scope)
    for head, indices in loops:
        indent = 8 if head else 4
        lines += [f"    {head}"] if head else []
        for index in indices:
            text = run_text(nested, [*outer, *carry, *(f"{x}[{index}]" for x in xs)], scope)
            lines += assigned_tuple([*carry, *results], text, indent=indent)
            lines += [f"{' ' * indent}{name}[{index}] = {y}" for name, y in zip(stacks, results, strict=True)]
    return lines


def _iterations(
    counter: str, length: Extent, reverse: bool, unroll: int, scope: Scope
) -> Iterator[tuple[str, Sequence[str]]]:
    """The loops over `length` steps: the ``for``, or nothing, and the indices of the steps in one iteration."""
    together = unroll if isinstance(length, SymbolicSize) else min(unroll, length)
    whole = length - length % together if together else 0
    for first, last, stride in ((0, whole, together), (whole, length, 1)):
        steps = last - first
        if not isinstance(steps, SymbolicSize) and steps <= stride:
            places = [first + i for i in range(steps)]
            yield "", [scope.size(length - 1 - place if reverse else place) for place in places]
        else:
            sign = "-" if reverse else "+"
            ends = (length - 1 - first, length - 1 - last) if reverse else (first, last)
            bounds = [*map(scope.size, ends), *([f"-{stride}"] if reverse else [str(stride)] * (stride > 1))]
            limits = ", ".join(bounds[1:] if bounds[0] == "0" and len(bounds) == 2 else bounds)
            indices = [counter, *(f"{counter} {sign} {i}" for i in range(1, stride))]
            yield f"for {counter} in range({limits}):", indices


@form("while_loop")
def _while(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``while cond(…):``, or a `for` over the maximum number of steps with a break."""
    cond, body, consts, most = while_params(call)
    outer = [operand_text(value, scope) for value in call.inputs[:consts]]
    given = [_own(value, scope) for value in call.inputs[consts:]]
    carry = scope.name_outputs(call)
    lines = [f"    {name} = {text}" for name, text in zip(carry, given, strict=True)]
    goes_on = f"{run_text(Nested(cond), [*outer, *carry], scope)}[0]"
    if most is None:
        lines.append(f"    while {goes_on}:")
    else:
        lines += [
            f"    for _ in range({scope.size(most)}):",
            f"        if not {goes_on}:",
            "            break",
        ]
    nested = Nested(body, _arrays(call.inputs[consts:], consts))
    text = run_text(nested, [*outer, *carry], scope)
    return [*lines, *assigned_tuple(carry, text, indent=8)]
