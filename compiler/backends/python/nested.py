"""Calls of graphs and of Python as statements: a nested graph is a function of the module."""

from dataclasses import replace

from ...free_sizes import sizes_in_param
from ...ir import Call, Value
from ...op import has_effect
from ...params import graph_param, graphs_param
from .form import form, param_expression
from .module import Nested, Scope
from .text import assigned_tuple


def operand_text(value: Value, scope: Scope) -> str:
    """An operand of a nested graph, which gets NumPy scalars for inputs without axes."""
    return scope.array(value) if value.ndim else scope.scalar(value)


def run_text(nested: Nested, arguments: list[str], scope: Scope) -> str:
    """``wave(x, y)``: a call of the function that runs a nested graph."""
    if scope.is_plain and scope.module.library:  # the reference for native functions calls none
        nested = replace(nested, is_plain=True)
    first = ["outside"] if any(map(has_effect, nested.graph.calls)) else []
    sizes = scope.module.sizes_in(nested.graph)
    return f"{scope.module.function(nested)}({', '.join([*first, *sizes, *arguments])})"


@form("call", "checkpoint", "custom_rule", "kernel", "linear_call")
def _call(call: Call, scope: Scope, target: str | None) -> list[str]:
    text = run_text(Nested(graph_param(call)), [operand_text(value, scope) for value in call.inputs], scope)
    return assigned_tuple(scope.name_outputs(call), text)


@form("callback")
def _callback(call: Call, scope: Scope, target: str | None) -> list[str]:
    """The definition, with its parameters bound, is stored in a global variable; see `printer.callbacks`.

    Parameters that depend on named sizes are passed in each call instead.
    """
    module = scope.module
    name = module.names.numbered("python")
    module.callbacks.append((name, call))
    sized = {key: param for key, param in call.params.items() if any(True for _ in sizes_in_param(param))}
    keywords = [f"{key}={param_expression(param, scope)}" for key, param in sized.items()]
    arguments = ", ".join([name, *map(scope.array, call.inputs), *keywords])
    numbers = [v for v in call.outputs if v.ndim == 0]
    lines = assigned_tuple(scope.name_outputs(call), f"outside.run({arguments})")
    return [*lines, *(f"    {scope.of[v]} = {scope.of[v]}[()]" for v in numbers)]


@form("switch")
def _switch(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``if index <= 0: … elif index == 1: … else: …``; for a bool the second branch comes first."""
    branches = graphs_param(call)
    index, *operands = call.inputs
    arguments = [operand_text(value, scope) for value in operands]
    texts = [run_text(Nested(branch), arguments, scope) for branch in branches]
    conditions = _conditions(index, len(branches), scope)
    if index.dtype.kind == "b":
        texts = texts[1::-1]
    names = scope.name_outputs(call)
    lines: list[str] = []
    for condition, text in zip(conditions, texts, strict=True):
        lines += [f"    {condition}:", *assigned_tuple(names, text, indent=8)]
    return lines if len(texts) > 1 else assigned_tuple(names, texts[0])


def _conditions(index: Value, count: int, scope: Scope) -> list[str]:
    """``if …``, ``elif …`` and finally ``else``, one per branch."""
    text = scope.scalar(index)
    if index.dtype.kind == "b":
        return [f"if {text}", "else"][: min(count, 2)]
    between = [f"elif {text} == {i}" for i in range(1, count - 1)]
    return [f"if {text} <= 0", *between, "else"] if count > 1 else ["else"]
