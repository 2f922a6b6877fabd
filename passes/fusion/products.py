"""Matrix products in kernels: calls on their elements run where the product is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...compiler.analysis.fusible_ops import PRODUCTS, REDUCTIONS, is_elementwise
from ...compiler.dtypes import FLOAT32, kind
from ...compiler.ir import Call, Graph, Value, called
from ...compiler.op import is_reshaped
from ...compiler.symbolic_size import is_known, typical
from ..simplification.remove_dead_code import remove_dead_code
from .kernels import kernel_call, names_of
from .reasons import Reason, Refusal


def with_held_products(graph: Graph) -> Graph:
    """The graph with products of widened numbers as kernels, before other kernels are built.

    Then the calls that compute such numbers store two bytes. Otherwise they would widen them, because they would find
    the conversions among their readers.
    """
    makers = {value: call for call in graph.calls for value in call.outputs}
    names = names_of(graph)
    calls: list[Call] = []
    for call in graph.calls:
        members = _with_widening(call, makers) if call.op in PRODUCTS else [call]
        calls.append(call if len(members) == 1 else kernel_call(members, call.outputs, names))
    if all(a is b for a, b in zip(calls, graph.calls, strict=True)):
        return graph
    return remove_dead_code(replace(graph, calls=tuple(calls)))


def with_products(graph: Graph) -> Graph:
    """The graph with each product in the kernel that reads it first, if this kernel goes over its elements.

    Before, for ``x: f32[100, 20], w: f32[20, 50]``::

        dot_1: f32[100, 50] = dot(x, w, contract_x=(1,), contract_y=(0,))
        kernel_1: f32[100, 50] = kernel(dot_1, graph=kernel_tanh)

    after::

        kernel_1: f32[100, 50] = kernel(x, w, graph=kernel_dot_tanh)

    If other calls also read a product, it is a further result. Two-byte numbers that are widened before a product are
    widened in the kernel. If both operands are such numbers, their products are exact, and tensor cores sum them.
    """
    readers: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for value in dict.fromkeys(call.inputs):
            readers.setdefault(value, []).append(call)
    makers = {value: call for call in graph.calls for value in call.outputs}
    names, outputs = names_of(graph), set(graph.outputs)
    now: dict[Call, Call | None] = {call: call for call in graph.calls}
    for call in reversed(graph.calls):
        if _is_held(call):
            members = list(_calls_of(call))
        elif call.op in PRODUCTS and kind(call.inputs[0].dtype) != "c":
            members = _with_widening(call, makers)
        else:
            continue
        value, reading = call.outputs[0], readers.get(call.outputs[0], [])
        reader = now[reading[0]] if reading else None
        if reader is not None and refusal(value, reader) is None:
            stored = [*reader.outputs, *([value] if value in outputs or len(reading) > 1 else [])]
            now[call], now[reading[0]] = None, kernel_call([*members, *_calls_of(reader)], stored, names)
        elif call.op != "kernel" and len(members) > 1:
            now[call] = kernel_call(members, [value], names)
    calls = tuple(call for call in now.values() if call is not None)
    if len(calls) == len(graph.calls) and all(a is b for a, b in zip(calls, graph.calls, strict=True)):
        return graph
    return remove_dead_code(replace(graph, calls=calls))


def refusal(value: Value, reader: Call) -> Refusal | None:
    """Why a product is not computed in the kernel that reads it first; None if it is."""
    if reader.op != "kernel":
        return Refusal(Reason.LIBRARY_CALL, typical(value.type.nbytes))
    (graph,) = called((reader,))
    if any(call.op in PRODUCTS for call in graph.calls):
        return Refusal(Reason.TWO_PRODUCTS, typical(value.type.nbytes))
    product = graph.inputs[reader.inputs.index(value)]
    if not all(is_known(output.type.size == value.type.size) for output in graph.outputs):
        return Refusal(Reason.NOT_BY_TILES, sum(typical(output.type.size) for output in graph.outputs))
    made = {product}
    for call in graph.calls:
        (result,) = call.outputs
        if call.op in REDUCTIONS:
            return Refusal(Reason.NOT_BY_TILES, typical(result.type.size))
        if not made.isdisjoint(call.inputs):
            made.add(result)
            is_as_large = is_known(result.type.size == value.type.size)
            if not (is_elementwise(call) or is_reshaped(call)) or not is_as_large:
                return Refusal(Reason.NOT_BY_TILES, typical(result.type.size))
    return None


def first_refusal(graph: Graph, value: Value) -> Refusal | None:
    """Why a product is computed separately from its reader; None if it is not."""
    if not any(call.op in PRODUCTS and value in call.outputs for call in graph.calls):
        return None
    reader = next(call for call in graph.calls if value in call.inputs)
    return refusal(value, reader)


def _is_held(call: Call) -> bool:
    """Whether a call is a kernel with only a product and the conversions of its operands."""
    if call.op != "kernel":
        return False
    (graph,) = called((call,))
    *conversions, product = graph.calls
    return product.op in PRODUCTS and all(inner.op == "convert" for inner in conversions)


def _with_widening(call: Call, makers: Mapping[Value, Call]) -> list[Call]:
    """A product with the conversions of its operands that come from two-byte numbers."""
    if call.op != "dot" or call.inputs[0].dtype != FLOAT32:
        return [call]
    widening = (_widening(value, makers) for value in dict.fromkeys(call.inputs))
    return [*(conversion for conversion in widening if conversion is not None), call]


def _widening(value: Value, makers: Mapping[Value, Call]) -> Call | None:
    """The conversion that makes a value from an array of two-byte numbers."""
    maker = makers.get(value)
    if maker is not None and maker.op == "kernel":
        made = (call for call in _calls_of(maker) if value in call.outputs)
        maker = next((call for call in made if call.inputs[0] in maker.inputs), None)
    if maker is None or maker.op != "convert":
        return None
    (source,) = maker.inputs
    return maker if kind(source.dtype) == "f" and source.dtype.itemsize == 2 else None


def _calls_of(kernel: Call) -> Sequence[Call]:
    """The calls of a kernel's graph, on its actual inputs and outputs."""
    (graph,) = called((kernel,))
    env = dict(zip((*graph.inputs, *graph.outputs), (*kernel.inputs, *kernel.outputs), strict=True))
    return [
        replace(
            call,
            inputs=tuple(env.get(value, value) for value in call.inputs),
            outputs=tuple(env.get(value, value) for value in call.outputs),
        )
        for call in graph.calls
    ]
