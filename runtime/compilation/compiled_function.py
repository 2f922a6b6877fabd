"""`CompiledFunction`: a function that is traced once per signature and then runs as a generated program."""

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, update_wrapper
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ...compiler.arguments.leaves import (
    argument_names,
    flatten_arguments,
    has_containers,
    has_labelled_classes,
)
from ...compiler.builder import current_builder, not_recording
from ...compiler.callers.function_names import describe
from ...compiler.error_state import DEFAULT, error_state, is_strict
from ...compiler.errors import ConcretizationError, SideEffectError, TracemillError, TransformTypeError
from ...compiler.frontend.outside.outside_changes import ArgumentContainers, WithChanges
from ...compiler.frontend.program import Program
from ...compiler.frontend.recorded_run import is_interrupted
from ...compiler.frontend.traced_program import trace
from ...compiler.interpreter import OtherValues, is_idle
from ...compiler.locks import reentrant_lock
from ...compiler.op import RAISES, effects_in
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.values_in_call import UNDONE, in_call
from ..eager.run import as_argument, inputs_of, overwrite, require_function, run
from ..gpu.arguments import entered
from ..host_arrays import entered as host_arrays
from ..tracebacks import hide_own_frames, with_users_frames
from ..variants.donation import check_donated
from ..variants.dynamic_shapes import check_arguments
from ..variants.generated_entry import MISS, always_miss
from ..variants.key_orders import key_orders, sees_keywords_in_order
from ..variants.signature import Signature, StaticLeaf, arguments_for, sign
from ..variants.static_arguments import static_arguments
from ..variants.symbolic_call import SymbolicCall
from ..variants.variant import Variant
from .options import Options
from .recompilation import of_values
from .variant_compiler import VariantCompiler

if TYPE_CHECKING:
    from ..inspection.lowered import Lowered


class CompiledFunction:
    """A function with its compiled variants. Made by `compile`; call it like the function it wraps.

    >>> import numpy as np, tracemill as tm
    >>> double = tm.compile(lambda x: 2 * x)
    >>> double(np.ones(2))
    array([2., 2.])
    >>> [str(signature) for signature in double.signatures()]
    ['args[0]: f64[2]']
    >>> print(double.lower(np.ones(2)).graph.code)
    def function(x: f64[2]) -> f64[2]:
        multiply_1: f64[2] = multiply(f64(2.0), x)  # ...
        return multiply_1
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        require_function("CompiledFunction", function)
        if not isinstance(options, Options):
            raise TransformTypeError(
                f"CompiledFunction: options must be those of compile, not {type(options).__name__}: "
                "write tracemill.compile(function, …)"
            )
        self._function = function
        self._options = options
        self._static_argnums, self._static_argnames = static_arguments(
            function, options.static_argnums, options.static_argnames
        )
        check_donated(function, options.donate_argnums, sorted(self._static_argnums))
        self._has_static = bool(options.static_argnums or options.static_argnames)
        check_arguments(function, options.dynamic)
        self._sees_keywords = sees_keywords_in_order(function)
        self._compiler = self._variant_compiler()
        self._by_value: Mapping[Any, frozenset[int]] = {}
        """By the structure of the arguments: the leaves that are Python numbers whose values tracing has needed. They
        are sizes, or part of the signature. It is replaced, not changed, because other threads may use it."""
        self._of_sizes: dict[tuple[Any, frozenset[int]], CompiledFunction] = {}
        """The same function with some of these as sizes."""
        self._returns_changes = False
        """Whether the caller makes the changes of `WithChanges`."""
        self._knows_labels = False
        """Whether it looks at the labels of its arguments, so that these are part of the signature."""
        self._lock = reentrant_lock()
        self._entry: Callable[..., Any] = always_miss
        """The entry of the variant that ran last, which is tried first."""
        update_wrapper(self, function, updated=())

    def _variant_compiler(self) -> VariantCompiler:
        """What compiles the function's variants and keeps them."""
        return VariantCompiler(self._function, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if is_idle():
                if error_state() is DEFAULT or not is_strict():  # otherwise `Variant.run` runs op by op
                    try:
                        result = self._entry(args, kwargs)
                    except OtherValues:
                        result = MISS
                    if result is not MISS:
                        return result
                if (on_host := host_arrays(args, kwargs)) is not None:
                    given, more, leave = on_host
                    return leave(self(*given, **more))
                if has_labelled_classes() and not self._knows_labels:
                    from ...compiler.arguments.detaching import detached, for_all_labels

                    if (without := detached(args, kwargs)) is not None:
                        if (found := for_all_labels(self, *without)) is not None:
                            return found[0]
                        return self._call_with_labels(args, kwargs)
                return self._call_general(args, kwargs)
            if current_builder() is not None and is_interrupted():
                with not_recording():
                    return self(*args, **kwargs)
            return self._call_traced(args, kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument, and static."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {describe(self._function)}: {len(self._compiler.variants)} variants>"

    def __reduce__(self) -> Any:
        """Pickled by name if the name leads here, otherwise by the wrapped function and the options."""
        from .pickling import found_by_name

        if found_by_name(getattr(self, "__module__", ""), getattr(self, "__qualname__", "")) is not self:
            return CompiledFunction, (self._function, self._options)
        if self.__module__ == "__main__" and isinstance(self._function, FunctionType):
            return _unpickled, (self._portable, self._options)
        return self.__qualname__

    @cached_property
    def _portable(self) -> Any:
        """What `pickling` describes."""
        from .pickling import portable_function

        return portable_function(self._function, self.__qualname__)

    # ---- calling -------------------------------------------------------------------------------------

    def _call_with_labels(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose labels are part of the signature, as in all calls from then on, unless it fails."""
        self._knows_labels = True
        try:
            return self._call_general(args, kwargs)
        except Exception:
            self._knows_labels = False
            raise

    def _call_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        by_value = self._by_value
        leaves, tree = self._flatten(args, kwargs)
        if any(map(is_traced, leaves)):
            return self._call_traced(args, kwargs)
        if self._by_value and (found := self._with_sizes(leaves, tree, args, kwargs)) is not None:
            function, given, more = found
            are_new = has_containers(tree) and _hold_sizes(given, more, args, kwargs)
            containers = ArgumentContainers(given, more) if are_new else None
            result = self._applied(function(*given, **more), args, kwargs)
            if containers is not None:  # a call that runs uncompiled has changed the new ones
                containers.change_as_well(self._function, args, kwargs)
            return result
        leaves, leave = entered(leaves)
        called = self._signed(leaves, tree, kwargs)
        if called in self._compiler.uncompiled:
            return self._function(*args, **kwargs)
        others: list[OtherValues] = []
        while True:
            variant = self._variant(called, leaves, others)
            if isinstance(variant, ConcretizationError):
                return self._called_again(called, tree, variant, by_value, args, kwargs)
            if variant is None or isinstance(variant, BaseException):
                result = self._function(*args, **kwargs)  # it usually ends with the same exception
                if variant is not None:
                    self._compiler.note_uncompiled(
                        called, f"tracing {describe(self._function)} fails: {variant}"
                    )
                return result
            if variant.uses_variables:
                return self._call_traced(args, kwargs)
            self._entry = variant.entry
            was_made_now = not variant.has_run
            try:
                result = variant.run(args, kwargs, leaves)
            except OtherValues as found:
                if was_made_now and variant.undo_own_trace():
                    return self._computed_otherwise(called, found, args, kwargs)
                others.append(found)
                continue
            return self._applied(result if leave is None else leave(result), args, kwargs)

    def _computed_otherwise(
        self, called: Signature, found: OtherValues, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the function itself, for a call whose own program does not find the values of its trace.

        A program may compute another last digit of a float than NumPy, so that it would be compiled in each call.
        """
        result = self._function(*args, **kwargs)
        if found.call.op == "expect" and found.call.inputs[0].dtype.kind in "fc":
            reason = of_values(describe(self._function), found).line
            self._compiler.note_uncompiled(called, f"the program computes another last digit: {reason}")
        return result

    def _variant(
        self, called: Signature, leaves: list[Any], others: list[OtherValues]
    ) -> Variant | BaseException | None:
        """The variant for a call; None if the function itself runs, or the exception of the function for which it does.

        Python prints and writes before that exception, and the trace has not done so. A ConcretizationError is
        returned, too, so that the call goes on outside of `except`: it is no context of an exception of the function.
        """
        undone: list[BaseException] = []
        noting = UNDONE.set(undone)
        try:
            return self._compiler.variant(called, leaves, others)
        except (Exception, SystemExit) as error:
            if not (isinstance(error, ConcretizationError) or any(one is error for one in undone)):
                raise
            return error
        finally:
            UNDONE.reset(noting)

    def _called_again(
        self,
        called: Signature,
        tree: Any,
        error: ConcretizationError,
        by_value: Mapping[Any, frozenset[int]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a call that cannot be traced so: uncompiled, or with a program for values.

        Raises:
            ConcretizationError: neither helps, or the call would run uncompiled with ``on_recompile="error"``.
        """
        if isinstance(error, SideEffectError) and error.runs_uncompiled:
            if not (error.may_fill_cache and self._compiler.may_fill_cache(called)):
                if self._options.on_recompile == "error":
                    raise error
                if error.is_of_text:  # often of an exception, for which no other call has to run uncompiled
                    result = self._function(*args, **kwargs)
                    self._compiler.note_uncompiled(called, error.message)
                    return result
                self._compiler.note_uncompiled(called, error.message)
            return self._function(*args, **kwargs)
        if not self._takes_by_value(tree, error.numbers, by_value):
            raise error
        return self._call_general(args, kwargs)

    def _applied(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, after the caller's lists and dicts have been changed as the function changes them."""
        if type(result) is WithChanges and not self._returns_changes:
            return result.applied(args, kwargs)
        return result

    def _call_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Inside a trace, and on variables, the function is interpreted, with unknown values as arguments as usual."""
        leaves, tree = self._flatten(args, kwargs)
        given: list[Any] = [
            StaticLeaf(x) if isinstance(x, SymbolicSize) or type(x) is int else x for x in leaves
        ]
        try:
            program, traced = self._interpreted(given, tree)
        except ConcretizationError:
            numbers = {k for k, x in enumerate(given) if is_traced(x) and x.weak is int}
            if not numbers:
                raise
            # The surrounding function is traced again for their values, or knows them.
            given = [StaticLeaf(operator.index(x)) if k in numbers else x for k, x in enumerate(given)]
            program, traced = self._interpreted(given, tree)
        inputs = inputs_of(program, traced)
        outputs = self._run_traced(program, inputs, args, kwargs)
        for index, output in program.mutated:
            overwrite(inputs[index], outputs[output])
        return program.result(outputs)

    def _run_traced(
        self, program: Program, inputs: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """The outputs of a program inside a trace, which may compute them now.

        If it raises an error whose text it cannot make, the function raises it.
        """
        try:
            return run(program.graph, inputs)
        except (Exception, SystemExit) as found:
            has_effects = bool(program.mutated or effects_in(program.graph) - {RAISES})
            if not program.falls_back or has_effects or isinstance(found, TracemillError):
                raise
            error = found
        with suppress(TracemillError):  # it may need to be converted in this trace
            self._function(*args, **kwargs)
        raise error

    def _interpreted(self, leaves: list[Any], tree: Any) -> tuple[Program, list[Any]]:
        """The program of a call inside a trace, and its traced arguments."""
        plain = [leaf.value if isinstance(leaf, StaticLeaf) else leaf for leaf in leaves]
        names = argument_names(tree)
        signed = sign(leaves, tree)
        entering = [
            as_argument(leaf, name, known=False) if spec.is_traced else fallback
            for leaf, name, spec, fallback in zip(
                plain, names, signed.specs, arguments_for(signed), strict=True
            )
        ]
        program = trace(
            self._function,
            tree,
            entering,
            check_bounds=self._checks_inside,
            convert=self._options.convert,
            checks=self._options.checks,
        )
        return program, [leaf for leaf, spec in zip(plain, signed.specs, strict=True) if spec.is_traced]

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        if self._has_static:
            args, kwargs = self._wrap_static(args, kwargs)
        leaves, tree = flatten_arguments(args, kwargs)
        if self._by_value:
            numbers = self._by_value.get(tree, frozenset())
            for number in numbers - _sizes_among(leaves, numbers):
                if type(leaves[number]) in (int, float, complex):
                    leaves[number] = StaticLeaf(leaves[number])
        return leaves, tree

    def _with_sizes(
        self, leaves: list[Any], tree: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> "tuple[CompiledFunction, tuple[Any, ...], dict[str, Any]] | None":
        """The same function and arguments, with arrays where numbers are sizes; None if none is."""
        places = _sizes_among(leaves, self._by_value.get(tree, ()))
        if not places:
            return None
        from .ints_as_sizes import in_every_place, of_sizes, with_lengths

        if self._has_static:
            args, kwargs = self._wrap_static(args, kwargs)
        places = in_every_place((args, kwargs), tree, places)
        with self._lock:
            function = self._of_sizes.get((tree, places))
            if function is None:
                function = CompiledFunction(of_sizes(self._function, places), self._options)
                function._compiler.code = self._compiler.code
                function._returns_changes = True
                self._of_sizes[tree, places] = function
        given, more = with_lengths((args, kwargs), leaves, tree, places)
        return function, tuple(map(_unwrapped, given)), {name: _unwrapped(x) for name, x in more.items()}

    def _takes_by_value(
        self, tree: Any, numbers: frozenset[int], before: Mapping[Any, frozenset[int]]
    ) -> bool:
        """Make the values of arguments that tracing needs part of the signature; False if they were `before` the call.

        Another thread may have done so since: then the call is tried again, too.
        """
        with self._lock:
            known = self._by_value.get(tree, frozenset())
            self._by_value = {**self._by_value, tree: known | numbers}
        return not numbers <= before.get(tree, frozenset())

    def _signed(self, leaves: list[Any], tree: Any, kwargs: dict[str, Any]) -> Signature:
        with_keywords = self._sees_keywords and len(kwargs) > 1
        return sign(leaves, tree, key_orders(tree, leaves, with_keywords=with_keywords))

    def _wrap_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Static arguments as single leaves."""
        count = len(args)
        positions = {n % count if -count <= n < 0 else n for n in self._static_argnums}
        wrapped = tuple(StaticLeaf(a) if i in positions else a for i, a in enumerate(args))
        return wrapped, {k: StaticLeaf(v) if k in self._static_argnames else v for k, v in kwargs.items()}

    @property
    def _checks_inside(self) -> bool | None:
        """Whether a function that is already compiled checks indices: like the outer one, unless this one sets it."""
        if current_trace() is not None and self._options.check_bounds is None:
            return None
        return self._compiler.spec.check_bounds

    # ---- looking inside ------------------------------------------------------------------------------

    def signatures(self) -> tuple[Signature, ...]:
        """The signatures for which the function has been compiled, oldest first: with named sizes if one program
        serves many.

        >>> import numpy as np, tracemill as tm
        >>> double = tm.compile(lambda x: 2 * x)
        >>> for x in (np.ones(3), np.ones(4), np.ones(500)):
        ...     y = double(x)
        >>> for signature in double.signatures():
        ...     print(signature)
        args[0]: f64[3]
        args[0]: f64[x_0] where x_0 in 2..
        """
        own = [variant.served for variant in self._compiler.variants]
        return (*own, *(one for function in self._of_sizes.values() for one in function.signatures()))

    def explain_recompile(self) -> str:
        """Why the newest variant was compiled: which argument changed, which guard failed, and what to do about it.

        And which calls run uncompiled, and why.

        >>> import numpy as np, tracemill as tm
        >>> root = tm.compile(np.sqrt)
        >>> y = root(np.ones(3)), root(np.ones(3, np.float32))
        >>> print(root.explain_recompile())
        sqrt was compiled again because
          args[0]: f64[3] became f32[3]
        fix: convert arguments to one dtype before the call, x.astype(...)
        """
        if not len(self._compiler.variants) and self._of_sizes and not self._compiler.uncompiled:
            return "\n".join(function.explain_recompile() for function in self._of_sizes.values())
        return self._compiler.explanation()

    def report(self, *args: Any, **kwargs: Any) -> str:
        """An HTML page of a call with these arguments: every stage, and why the function was compiled again.

        >>> import numpy as np, tracemill as tm
        >>> page = tm.compile(lambda x: np.sum(np.sin(x))).report(np.ones(3))
        >>> page.lower().startswith("<!doctype html>"), "sin_1" in page
        (True, True)
        """
        return self.lower(*args, **kwargs).html(self.explain_recompile())

    @with_users_frames
    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """The stages of a call with these arguments: traced graph, passes, generated source.

        Sizes have names if a program for many sizes serves the call, or would.

        >>> import numpy as np, tracemill as tm
        >>> lowered = tm.compile(lambda x: np.sin(x) * 1).lower(np.ones(3))
        >>> print(lowered.graph.code.partition("  #")[0])
        def function(x: f64[3]) -> f64[3]:
            sin_1: f64[3] = sin(x)
        >>> len(lowered.graph.calls), len(lowered.after("simplify").calls)
        (2, 1)
        """
        if (on_host := host_arrays(args, kwargs)) is not None:
            args, kwargs, _ = on_host
        if has_labelled_classes() and not self._knows_labels:
            from ...compiler.arguments.detaching import detached

            args, kwargs, *_ = detached(args, kwargs) or (args, kwargs)
        by_value = self._by_value
        leaves, tree = self._flatten(args, kwargs)
        if self._by_value and (found := self._with_sizes(leaves, tree, args, kwargs)) is not None:
            function, given, more = found
            return function.lower(*given, **more)
        leaves = entered(leaves)[0]
        called = self._signed(leaves, tree, kwargs)
        variant = self._compiler.variants.find(called)
        if variant is None:
            try:
                with in_call(leaves):
                    return self._compiler.lowered(called, self._compiler.symbolic(called))
            except ConcretizationError as error:
                if not self._takes_by_value(tree, error.numbers, by_value):
                    raise
                return self.lower(*args, **kwargs)
        sizes = variant.sizes(called)
        return self._compiler.lowered(called, SymbolicCall(variant.symbolic, sizes) if sizes else None)


def _unpickled(function: Any, options: Options) -> CompiledFunction:
    """The compiled function of this process's main module, or one of a copied function."""
    from .pickling import holder_of

    return holder_of(function) or CompiledFunction(function, options)


def _hold_sizes(
    given: tuple[Any, ...], more: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Whether a container holds a size, so that there is a new one in its place."""
    pairs = (*zip(given, args, strict=True), *((one, kwargs[name]) for name, one in more.items()))
    return any(new is not old and not isinstance(old, int) for new, old in pairs)


def _unwrapped(x: Any) -> Any:
    return x.value if isinstance(x, StaticLeaf) else x


def _sizes_among(leaves: Sequence[Any], numbers: Iterable[int]) -> frozenset[int]:
    """Which of the leaves whose values tracing needs can be sizes."""
    return frozenset(
        place for place in numbers if type(leaves[place]) is int and 0 <= leaves[place] <= sys.maxsize
    )
