"""`export`: a function as an artifact, traced once, ahead of time."""

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import Parameter
from itertools import takewhile
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import flatten_arguments
from ...compiler.arguments.option_checks import flag
from ...compiler.builder import line_at_work
from ...compiler.callers.function_names import describe, function_name
from ...compiler.errors import (
    ArgumentSpecError,
    ArgumentTypeError,
    ArgumentValueError,
    DimSpecError,
    ExportError,
    TransformTypeError,
)
from ...compiler.errors.tracemill_error import text_of
from ...compiler.frontend.program import ArrayOutput, Program
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import Constant, Graph, Value, called
from ...compiler.nesting import shown
from ...compiler.op import has_effect
from ...compiler.params import function_param
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import Comparison, answering
from ...compiler.shapes.guards import Guard, Guards
from ...compiler.shapes.reading import Sizes, read_constraints
from ...compiler.shapes.scope import Declared
from ...compiler.tracing.value_lengths import is_computed
from ..builder.build import build
from ..bundle.contents import Settings
from ..bundle.interface import Interface, StandIn, interface_document, interface_from, interface_of
from ..bundle.literal_document import literal_document
from ..bundle.targets import CPU_C, check_targets, code_for
from ..bundle.tree_document import tree_document
from ..compilation.compiled_function import CompiledFunction
from ..compilation.options import Options
from ..eager.numpy_generators import refusing_draws
from ..eager.one_call import is_for_user
from ..gpu.device_array import DeviceArray
from ..machine.target import target_of
from ..tracebacks import with_users_frames
from ..trees import changed_leaves
from ..variants.argument_text import NamedArguments, bound_arguments, parse_spec, spec_named
from ..variants.donation import donated_inputs
from ..variants.signature import (
    ArraySpec,
    NumberSpec,
    Signature,
    Spec,
    StaticLeaf,
    StaticSpec,
    arguments_for,
    sign,
)
from ..variants.symbolic_call import SymbolicCall
from .artifact import Artifact
from .lost_rules import without_rules

_USUAL = Options("auto", False, (), (), 1)


@with_users_frames
def export(
    function: Callable[..., Any],
    /,
    *args: Any,
    targets: str | Iterable[str] = ("cpu",),
    constraints: str | Comparison | Iterable[str | Comparison] = (),
    checks: bool = True,
    name: str | None = None,
    **kwargs: Any,
) -> Artifact:
    """Trace a function ahead of time, for described arguments, and keep it as an artifact.

    An artifact needs neither the function's Python code nor the arrays that it closes over: these become constants
    with their current values. You can save it, load it elsewhere with `load`, call it, compile it, and still
    transform it. The file also contains the docstring and the source lines of the calls, for people to read.

    Args:
        function: what is exported: a function of NumPy arrays, what `compile` made of one, whose settings (static and
            donated arguments, ``fast_math``) count here too, or what a transform made of one, such as
            ``tm.grad(f)``.
        args, kwargs: describe the arguments of a call: ``"f32[4, 784]"`` for an array, ``"f64[]"`` for a scalar of
            NumPy's, ``"int"``, ``"float"`` or ``"complex"`` for a number of Python's; with a name,
            ``"x: f32[4, 784]"``, ``"layers.0.w: f32[784, 10]"`` for an array in a list in a dict, ``"axis = -1"`` for a
            setting. An array or number is an example, and a container of these and of texts is one of arguments.
            What is not described has its default, and is a setting, too: other values are refused later.
            A size may have a name, ``"x: f32[B, 2*K + 1]"``: the artifact is for all such sizes.
            The function sees dicts with their keys in the order in which they stand here. Later, values are found by
            their keys, in whatever order; loaded functions refuse an OrderedDict in another one.
        targets: what it is made for: ``"cpu"``, and ``"cuda:sm_90"``, ``"cuda:sm_80"`` and so on, whose kernels are
            compiled now and stored with it. No such GPU need be there, but Triton. Newer GPUs run what is for
            ``"cuda:sm_80"``, ``sm_86`` or ``sm_89``, too, from PTX that their driver compiles. With ``"cpu-c"`` it is
            compiled as C now, so that this machine's disk cache has it, and what a compiler has against it is known.
        constraints: what holds of named sizes, ``"B in 1..4096"``, ``"B % 16 == 0"`` or ``"A <= B"``; or comparisons of
            dims, `Dim`; several in a list. Without any they are 0 or more. They are checked in each call.
        checks: with False, ``raise`` and ``assert`` under conditions on values are left out, as by `compile`.
        name: what files and the functions in them are called; otherwise as the function is. ``tm.grad(loss)`` is called
            ``loss``, too.

    Raises:
        ArgumentTypeError, ArgumentValueError: (a TypeError, a ValueError) `name` is no text, or no name in Python.
        ArgumentSpecError: (a ValueError) a description cannot be read, or the function takes no such arguments.
        DimSpecError, ContradictoryConstraintsError: (ValueErrors) a constraint cannot be read; they hold for no sizes.
        UndecidedDimError: (a ValueError) the function asks what holds for some sizes only. The message says which
            constraint to add.
        UndeterminedDimError: (a ValueError) a size cannot be determined from the shapes of the arguments.
        ExportError: (a ValueError) the function calls Python when it runs, handles an exception that a call may raise,
            updates an array that is not an argument, or takes or returns what a file cannot hold.
        MissingCompilerError, CompilerError: for ``"cpu-c"``, if there is no C compiler that works.
        MissingPackageError, KernelError: for GPUs, if Triton is not there, or refuses a kernel.

    >>> import numpy as np, tracemill as tm
    >>> weights = np.arange(3.0)
    >>> artifact = tm.export(lambda x: np.tanh(x @ weights), "x: f64[4, 3]")
    >>> artifact
    <Artifact function(x: f64[4, 3]) -> f64[4] for cpu>
    >>> f = artifact.function()
    >>> f(np.zeros((4, 3)))
    array([0., 0., 0., 0.])
    >>> print(tm.export(lambda x: x / x.shape[0], "x: f64[B, 3]", constraints="B >= 1"))
    function(x: f64[B, 3]) -> f64[B, 3] where B >= 1
    """
    if not callable(function):
        raise TransformTypeError(f"export needs a function, not {type(function).__name__}: {shown(function)}")
    wanted, checks, own_name = check_targets(targets), flag("checks", checks), _identifier(name)
    function, options, static = _taken_apart(function)
    sizes, relations = read_constraints(constraints)
    signature, args, kwargs = _signature(function, args, kwargs, static, sizes)
    described = describe(function)
    signature = replace(signature, guards=Guards(tuple(map(Guard, Assumptions(relations).relations))))
    _check_sizes(described, signature, sizes)
    declared = Declared(signature.sizes.assumptions, line_at_work, is_for_user, is_computed)
    entering = arguments_for(signature)
    with refusing_draws(function, signature.tree, entering), answering(declared):
        program = trace(
            function,
            signature.tree,
            entering,
            is_kept=True,
            is_ahead=True,
            convert=options.convert,
            check_bounds=options.check_bounds,
            checks=checks and options.checks,
        )
        graph = without_rules(program.graph)
        program = replace(program, graph=replace(graph, name=own_name or graph.name))
    _check_handlers(described, program)
    _check_effects(described, program.graph)
    program = _closed(described, program)
    _check_kept(described, signature, program)
    interface = _readable(
        described, interface_of(function, own_name or function_name(function), args, kwargs)
    )
    settings = Settings(options.fast_math, options.donate_argnums)
    if CPU_C in wanted:
        _compile_as_c(Artifact(interface, signature, program, settings))
    with answering(declared):
        code = code_for(program.graph, wanted, fast_math=options.fast_math)
    return Artifact(interface, signature, program, settings, code)


def _identifier(name: Any) -> str | None:
    """A name that is given; it becomes one of a function in Python and C."""
    if name is not None and type(name) is not str:
        raise ArgumentTypeError(f"name= must be a text or None, not {shown(name)}")
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name) or not name.isascii()):
        raise ArgumentValueError(
            f'name={name!r} cannot be the name of a function: write one such as "loss_gradient"'
        )
    return name


def _compile_as_c(artifact: Artifact) -> None:
    """Put the program into the disk cache; for named sizes, with likely values."""
    signature, settings = artifact.signature, artifact.settings
    target = target_of("c", settings.fast_math)
    donated = donated_inputs(signature, settings.donate_argnums)
    if not signature.dims:
        build(artifact.graph, target, donated)
        return
    call = SymbolicCall(signature, artifact.likely_sizes)
    with call.answering():
        build(artifact.graph, target, donated, call.scope)


# ---- arguments ---------------------------------------------------------------------------------------


def _taken_apart(
    function: Callable[..., Any],
) -> tuple[Callable[..., Any], Options, tuple[frozenset[int], frozenset[str]]]:
    """The function that `compile` was given, with its options; and its static arguments, by number and by name."""
    if isinstance(function, CompiledFunction):
        return function._function, function._options, (function._static_argnums, function._static_argnames)
    if isinstance(function, MethodType) and isinstance(function.__func__, CompiledFunction):
        inner, options, (numbers, names) = _taken_apart(function.__func__)
        donated = tuple(number - 1 for number in options.donate_argnums if number)
        static = frozenset(number - 1 for number in numbers if number > 0), names
        return MethodType(inner, function.__self__), replace(options, donate_argnums=donated), static
    return function, _USUAL, (frozenset(), frozenset())


def _signature(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    static: tuple[frozenset[int], frozenset[str]],
    sizes: Sizes,
) -> tuple[Signature, tuple[Any, ...], dict[str, Any]]:
    """The signature of the described call, and its arguments with specs as leaves."""
    nameless: list[Any] = []
    named = NamedArguments()
    for number, given in enumerate(args):
        name, spec = _parsed(given, number in static[0], sizes)
        if name:
            named.add(name, spec)
        else:
            nameless.append(spec)
    trees = named.trees()
    for name, given in kwargs.items():
        if name in trees:
            raise ArgumentSpecError(f"{name!r} is described twice")
        trees[name] = _described(given, name in static[1], sizes)
    bound_args, bound_kwargs = _with_defaults(function, *bound_arguments(function, nameless, trees))
    leaves, tree = flatten_arguments(bound_args, bound_kwargs)
    specs: list[Spec] = [
        leaf if isinstance(leaf, (ArraySpec, NumberSpec, StaticSpec)) else signed
        for leaf, signed in zip(leaves, _signed(leaves, tree), strict=True)
    ]
    specs = [replace(spec, gpu=None) if isinstance(spec, ArraySpec) else spec for spec in specs]
    filled: Any = optree.tree_unflatten(tree, specs)
    return Signature(tree, tuple(specs)), filled[0], filled[1]


def _with_defaults(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the defaults of those that are not described as settings, if a file can hold them.

    Only for plain functions: a transform names arguments by position, and other callables may check whether an
    argument is given.
    """
    if not _is_written(function):
        return args, kwargs
    parameters = list(inspect.signature(function).parameters.values())
    missing = {
        parameter.name: StaticLeaf(parameter.default) if parameter.default is not None else None
        for parameter in parameters[len(args) :]
        if parameter.name not in kwargs and _is_literal(parameter.default)
    }
    positional = takewhile(
        lambda p: (
            p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) and p.name in missing
        ),
        parameters[len(args) :],
    )
    added = [missing.pop(parameter.name) for parameter in positional]
    named = {p.name for p in parameters if p.kind is not Parameter.POSITIONAL_ONLY}
    known = kwargs | {name: default for name, default in missing.items() if name in named}
    in_order = {p.name: known.pop(p.name) for p in parameters if p.name in known}
    return (*args, *added), in_order | known


def _is_written(function: Callable[..., Any]) -> bool:
    if isinstance(function, partial):
        return _is_written(function.func)
    return isinstance(function, (FunctionType, MethodType, StandIn)) and not hasattr(function, "__wrapped__")


def _is_literal(default: Any) -> bool:
    try:
        literal_document(default)
    except ValueError:  # an array, a container or an object, or there is no default
        return False
    return True


def _parsed(given: Any, is_static: bool, sizes: Sizes) -> tuple[str, Any]:
    """The name, if there is one, and the description: a string in a static position is the value itself, but "n = 3"
    is a description."""
    if not isinstance(given, str) or (is_static and not re.fullmatch(r"\s*\w+\s*=.*", given, re.DOTALL)):
        return "", _described(given, is_static, sizes)
    return parse_spec(given, sizes)


def _signed(leaves: list[Any], tree: Any) -> tuple[Spec, ...]:
    """Types of examples; a spec is hashable, and so would be a setting."""
    return sign(leaves, tree).specs


def _described(given: Any, is_static: bool, sizes: Sizes) -> Any:
    """An argument with specs in place of strings; a static one is a single leaf."""
    if is_static:
        return given if isinstance(given, StaticSpec) else StaticLeaf(given)
    return changed_leaves(
        "an example argument",
        lambda leaf: spec_named(leaf, sizes=sizes) if isinstance(leaf, str) else leaf,
        given,
    )


def _check_sizes(name: str, signature: Signature, sizes: Sizes) -> None:
    """Named sizes must occur in shapes, from which they can be read."""
    stray = sizes.keys() - {repr(dim) for dim in signature.sizes.dims}
    if stray:
        raise DimSpecError(
            f"{name}: the constraints are of {min(stray)!r}, which is not a size of any argument"
        )


# ---- what a file can hold ------------------------------------------------------------------------------


def _check_handlers(name: str, program: Program) -> None:
    """Refuse a function that handles an exception which the program raises: a file has no Python code to handle it."""
    for error, line in program.unhandled_errors:
        raise ExportError(
            f"{name} cannot be exported: it handles {error.__name__}, and a file has no Python code to go on with. "
            "Test for the case with `if` instead of `try`, or export with checks=False if no call raises it",
            line,
        )


def _check_effects(name: str, graph: Graph) -> None:
    for call in graph.calls:
        if call.op == "callback":
            called_function = function_param(call)
            what = getattr(called_function, "__qualname__", None) or repr(called_function)
            raise ExportError(
                f"{name} cannot be exported: it calls the Python function {what}, which a file cannot store. Write it"
                " with NumPy, so that it can be traced, or call it outside",
                call.location,
            )
        if has_effect(call, "calls Python"):
            for nested in called((call,)):
                _check_effects(name, nested)


def _closed(name: str, program: Program) -> Program:
    """The program with its captured arrays as constants of its graph."""
    count = len(program.arguments)
    for index, _ in program.mutated:
        if index >= count:
            raise ExportError(
                f"{name} cannot be exported: it updates {program.graph.inputs[index].type}, an array that it closes"
                " over, which a file cannot store. Make it an argument, or return its new value; a random"
                " generator, too, can be an argument"
            )
    arrays = [_as_constant(name, array) for array in program.captured]
    known: dict[Value, Value] = dict(zip(program.graph.inputs[count:], arrays, strict=True))

    def of(values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(known.get(value, value) for value in values)

    graph = program.graph
    calls = tuple(replace(call, inputs=of(call.inputs)) for call in graph.calls)
    closed = Graph(graph.name, graph.inputs[:count], calls, of(graph.outputs), graph.input_names[:count])
    return replace(program, graph=closed, captured=(), frozen=())


def _as_constant(name: str, array: Any) -> Constant:
    if isinstance(array, DeviceArray):
        return Constant(array.numpy())
    if type(array) in (np.ndarray, np.memmap):
        return Constant(array)
    raise ExportError(
        f"{name} cannot be exported: it closes over an array that another function traces, or a variable. Export it"
        " outside, and with plain arrays"
    )


def _readable(name: str, interface: Interface) -> Interface:
    """The interface, if a file with it can be read again."""
    try:
        return interface_from(interface_document(interface))
    except ValueError as error:
        raise ExportError(f"{name[:60]} cannot be exported: {text_of(error)}") from None


def _check_kept(name: str, signature: Signature, program: Program) -> None:
    """Check that containers, settings and results can be stored."""

    def setting(number: int) -> None:
        spec = signature.specs[number]
        if isinstance(spec, StaticSpec):
            literal_document(spec.value)

    def result(number: int) -> None:
        leaf = program.out_leaves[number]
        if not isinstance(leaf, ArrayOutput):
            literal_document(leaf.value)

    for what, tree, leaf in (("takes", signature.tree, setting), ("returns", program.out_tree, result)):
        try:
            tree_document(tree, leaf)
        except ValueError as error:
            raise ExportError(
                f"{name} cannot be exported: it {what} {text_of(error)}, which a file cannot store. Bind such a setting"
                " before, with functools.partial, and use tuples, lists, dicts, named tuples, or registered classes"
            ) from None
