"""`compile`: the decorator, its options and their checks."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast, overload

from ...compiler.arguments.option_checks import flag
from ...compiler.errors import TransformTypeError
from ...compiler.nesting import shown
from ...compiler.shapes.dim import Comparison
from ..environment import usual_lock
from ..int_options import positive_int
from ..machine.target import check_backend, target_of
from ..tracebacks import with_users_frames
from ..variants.dynamic_shapes import Given, read_dynamic
from ..variants.static_arguments import as_tuple
from .compiled_function import CompiledFunction
from .options import OnRecompile, Options


def _lock_file(autotune: Any, backend: str) -> Path | None:
    """Where choices are stored; None if nothing is to be measured."""
    if not isinstance(autotune, bool | str | os.PathLike):
        raise TransformTypeError(
            f"autotune must be True, False or the path of a lock file, not {shown(autotune)}"
        )
    if autotune is False:
        return None
    lock = usual_lock() if autotune is True else Path(cast("str | os.PathLike[str]", autotune))
    if backend not in ("auto", "triton"):
        target_of(backend, fast_math=False, lock=lock)
    return lock.absolute()


@overload
def compile(
    function: Callable[..., Any],
    /,
    *,
    backend: str = ...,
    fast_math: bool = ...,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    max_variants: int = ...,
    donate_argnums: int | Iterable[int] = ...,
    autotune: bool | str | os.PathLike[str] = ...,
    dynamic: bool | Mapping[str, Given] | None = ...,
    constraints: str | Comparison | Iterable[str | Comparison] = ...,
    on_recompile: OnRecompile = ...,
    check_bounds: bool | None = ...,
    convert: bool | str | Iterable[str] = ...,
    checks: bool = ...,
    tier: bool = ...,
) -> CompiledFunction: ...


@overload
def compile(
    function: None = None,
    /,
    *,
    backend: str = ...,
    fast_math: bool = ...,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    max_variants: int = ...,
    donate_argnums: int | Iterable[int] = ...,
    autotune: bool | str | os.PathLike[str] = ...,
    dynamic: bool | Mapping[str, Given] | None = ...,
    constraints: str | Comparison | Iterable[str | Comparison] = ...,
    on_recompile: OnRecompile = ...,
    check_bounds: bool | None = ...,
    convert: bool | str | Iterable[str] = ...,
    checks: bool = ...,
    tier: bool = ...,
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...


@with_users_frames
def compile(
    function: Callable[..., Any] | None = None,
    /,
    *,
    backend: str = "auto",
    fast_math: bool = False,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    max_variants: int = 32,
    donate_argnums: int | Iterable[int] = (),
    autotune: bool | str | os.PathLike[str] = False,
    dynamic: bool | Mapping[str, Given] | None = None,
    constraints: str | Comparison | Iterable[str | Comparison] = (),
    on_recompile: OnRecompile = "warn",
    check_bounds: bool | None = None,
    convert: bool | str | Iterable[str] = True,
    checks: bool = True,
    tier: bool = False,
) -> Any:
    """Compile a NumPy function: the first call with new shapes or dtypes traces it, and later calls run generated
    code.

    One program serves arrays of many sizes: when an axis has a second size, it gets a name.

    Works as ``@tm.compile`` and ``@tm.compile(...)``, on functions, methods and ``functools.partial`` objects.

    Args:
        function: takes and returns arrays, numbers, and containers of them. Arrays that it closes over are used by
            reference. It must not depend on anything else that changes.
        backend: ``"c"`` for C functions that the machine's compiler compiles, between statements of NumPy;
            ``"numpy"`` for statements alone; ``"triton"`` for kernels on an NVIDIA GPU, to which arrays of NumPy are
            copied, and results back; ``"auto"`` for that where arguments lie on a GPU, and else for the first where a
            compiler works, or for what the environment's ``TRACEMILL_BACKEND`` says.
        fast_math: let C add in any order, use reciprocals, fuse multiplications with additions, and lose the sign of
            zero: faster, and not NumPy's values to the last digits. NumPy's own statements stay as they are. Kernels on
            GPUs fuse, too; quotients of float32 are within two units of the last place, and products of float32 are
            computed by tensor cores, as three of tf32 for each, which errs little more than float32 itself.
        static_argnums: positions of arguments that are settings, not data: their values are known while tracing,
            and each new value compiles again. They must be hashable. Strings, bools and None are static anyway.
        static_argnames: the same by name, however they are passed.
        max_variants: how many signatures to keep; the oldest goes first.
        donate_argnums: positions of arguments whose memory results may take, such as the weights that a training
            step replaces: such an argument, or an array in it, must not be used after the call, since anything may
            stand there. Arrays that are read-only, not in order, or share memory with another argument are copied.
        autotune: for GPUs, time a few blocks and tiles for each kernel where it is first compiled, and keep the fastest
            in a lock file: the one of this path, or with True the one that ``TRACEMILL_LOCK`` names, else
            ``tracemill.lock``. Kernels that are in it are not timed.
        dynamic: which sizes of arguments get names, so that one program serves all of them. By default, those that a
            second call shows to differ; with True, all from the first call on; with False, none. Or a dict by names of
            arguments, ``{"x": "f32[B, 784]", "weights['w']": "[784, 2*K]"}``: what each array is, with dims, numbers,
            and ``_`` for sizes that are taken as by default; or a tuple of these, as ``(tm.Dim("B", max=64), 784)``.
            Axes of size 0 and 1 have programs of their own, unless they are described. Where a program depends on more,
            as on ``if x.shape[0] > 8``, that becomes a guard, and calls for which it does not hold get another program.
        constraints: what is known of the dims that `dynamic` describes: ``"B in 1..4096"``, ``"B % 16 == 0"``,
            ``"A <= B"``; one text may hold several, with ``and`` between them; or comparisons of dims, `Dim`; or a list
            of these. Calls that are not so are refused.
        on_recompile: what happens when the function is compiled again. ``"warn"`` warns if that goes on, for sizes or
            for objects of a class of yours, if programs are dropped, and if calls run uncompiled. ``"ignore"`` does
            not. ``"error"`` raises an error, except where it is compiled again to name sizes. A function is called with
            the reason.
        check_bounds: with True, an index that the program computes and that is out of bounds raises `OutOfBoundsError`,
            as NumPy does, with the line of the function; arrays that the call would update are then as they were. With
            False, such an index reads the nearest entry and writes nothing. By default, as ``TRACEMILL_CHECK=bounds``
            in the environment says; inside another compiled function, as that one does.
        convert: with True, `function` and the functions of your own modules that it calls are rewritten from their
            source before they are traced, so that ``if``, ``while``, ``for`` and ``return`` on values become branches
            and loops of the program. Names of installed libraries, ``("mylib",)``, have theirs rewritten as well. With
            False, and for functions whose source is not available, Python runs them, and needs the values.
        checks: with False, ``raise`` and ``assert`` under conditions on values are left out, as are Python's own
            exceptions, such as that of a list's index, and what only their conditions and messages need: the program
            continues as if no condition held. Conditions that are known while tracing still raise, and so do NumPy's
            own errors, such as that of ``np.zeros(-1)``, and `check_bounds`.
        tier: with True, statements of NumPy compute a new program until a thread in the background has compiled it to
            C, so that the first result comes sooner. The last digits may change then. Programs in the disk cache, and
            those with named sizes, are in C from the first call on.

    Returns:
        A `CompiledFunction`: call it like `function`. It returns new arrays, updates the arguments that `function`
        updates, may be called from several threads, and can be pickled if `function` can.

    Raises:
        OutOfBoundsError: (when called) if an index is out of bounds that is known, or with `check_bounds`.
        ConcretizationError: (when called) if Python needs a value, as in ``x.tolist()``.
        MissingCompilerError, CompilerError: (when called) if ``backend="c"`` finds no C compiler that works.
        MissingPackageError, NoDriverError, NoGpuError: (when called) if ``backend="triton"`` finds nothing to run on.
        BackendError, DonationError, StaticArgumentError, TransformTypeError: for wrong options.
        ArgumentSpecError, DimSpecError, ContradictoryConstraintsError: for what `dynamic` and `constraints` cannot say.
        DimMismatchError, UndeterminedDimError: (when called) if the sizes of a call are not as described.
        RecompileError: (when called) with ``on_recompile="error"``.
        LockFileError: (when called) if the lock file is damaged, or cannot be written.

    >>> import numpy as np
    >>> @compile
    ... def f(x):
    ...     return np.sin(x) ** 2
    >>> f(np.zeros(2))
    array([0., 0.])
    """
    check_backend(backend)
    argnums = as_tuple("static_argnums", static_argnums, int)
    argnames = as_tuple("static_argnames", static_argnames, str)
    donated = tuple(donate_argnums) if isinstance(donate_argnums, Iterable) else (donate_argnums,)
    positive_int("max_variants", max_variants, TransformTypeError)
    lock = _lock_file(autotune, backend)
    is_named = isinstance(on_recompile, str) and on_recompile in ("warn", "error", "ignore")
    if not is_named and not callable(on_recompile):
        raise TransformTypeError(
            f"on_recompile must be 'warn', 'error', 'ignore' or a function of a text, not {shown(on_recompile)}"
        )
    told: Any = on_recompile
    options = Options(
        backend,
        flag("fast_math", fast_math),
        argnums,
        argnames,
        max_variants,
        donated,
        lock,
        read_dynamic(dynamic, constraints),
        told,
        None if check_bounds is None else flag("check_bounds", check_bounds),
        convert if isinstance(convert, bool) else as_tuple("convert", convert, str),
        flag("checks", checks),
        flag("tier", tier),
    )

    def wrap(f: Callable[..., Any]) -> CompiledFunction:
        if not callable(f):
            raise TransformTypeError(f"compile needs a function, not {type(f).__name__}: {shown(f)}")
        return CompiledFunction(f, options)

    return wrap if function is None else wrap(function)
