"""Tracemill: derivatives, batching and compiled kernels for plain NumPy functions."""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any


def _check_interpreter() -> None:
    """`ImportError` in a sub-interpreter: NumPy does not work there, and importing it may crash or never end."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # Python 3.13, and before
        try:
            interpreters: Any = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "tracemill cannot be imported in a sub-interpreter, because NumPy does not support them: import it in"
                " the main interpreter, or start another process. Under mod_wsgi, set WSGIApplicationGroup %{GLOBAL}"
            )
        return


_check_interpreter()

if TYPE_CHECKING:
    from tracemill.compiler import errors, nn
    from tracemill.compiler.errors import TracemillError
    from tracemill.compiler.interpreter import Interpreter, Transformer
    from tracemill.compiler.ir import Graph
    from tracemill.compiler.numpy_surface.array_api import array_api
    from tracemill.compiler.numpy_surface.indexing import sized as numpy
    from tracemill.compiler.numpy_surface.indexing.top_k import top_k
    from tracemill.compiler.numpy_surface.linalg import beyond_numpy as linalg
    from tracemill.compiler.shapes import Dim
    from tracemill.compiler.text.parser import parse
    from tracemill.passes.replace_pattern import replace_pattern
    from tracemill.runtime import autograd, dask, random
    from tracemill.runtime.artifact.artifact import Artifact
    from tracemill.runtime.artifact.export import export
    from tracemill.runtime.artifact.loaded_function import LoadedFunction
    from tracemill.runtime.artifact.loading import load
    from tracemill.runtime.autograd.gradcheck import gradcheck, gradgradcheck
    from tracemill.runtime.autograd.nan_report import nan_report
    from tracemill.runtime.batching.collectives import (
        all_gather,
        axis_index,
        axis_size,
        pmax,
        pmean,
        pmin,
        ppermute,
        psum,
    )
    from tracemill.runtime.batching.vmap import chunk_vmap, vmap
    from tracemill.runtime.compilation.compile import compile
    from tracemill.runtime.compilation.compiled_function import CompiledFunction
    from tracemill.runtime.control_flow.associative_scan import associative_scan
    from tracemill.runtime.control_flow.cond import cond, switch
    from tracemill.runtime.control_flow.fori_loop import fori_loop
    from tracemill.runtime.control_flow.map import map
    from tracemill.runtime.control_flow.scan import scan
    from tracemill.runtime.control_flow.while_loop import while_loop
    from tracemill.runtime.derivatives import checkpoint_policies
    from tracemill.runtime.derivatives.checkpoint import checkpoint, checkpoint_name
    from tracemill.runtime.derivatives.grad import grad, grad_and_value, value_and_grad
    from tracemill.runtime.derivatives.jacobians.coloured_derivatives import Sparsity
    from tracemill.runtime.derivatives.jacobians.hessian_diagonal import hessian_diag, laplacian
    from tracemill.runtime.derivatives.jacobians.hvp import hvp
    from tracemill.runtime.derivatives.jacobians.jacobians import hessian, jacfwd, jacobian, jacrev
    from tracemill.runtime.derivatives.jacobians.sparse_jacobians import sparsity
    from tracemill.runtime.derivatives.jvp_vjp import jvp, linearize, vjp
    from tracemill.runtime.derivatives.stop_gradient import stop_gradient
    from tracemill.runtime.eager.anomaly import detect_anomaly
    from tracemill.runtime.eager.debug_print import debug_print
    from tracemill.runtime.eager.pytrees import register_dataclass, register_pytree
    from tracemill.runtime.gpu.device_array import DeviceArray
    from tracemill.runtime.gpu.device_put import device_put
    from tracemill.runtime.machine.result_memory import MemoryStats, memory_stats
    from tracemill.runtime.machine.threads import get_num_threads, set_num_threads
    from tracemill.runtime.rules.callback import pure_callback
    from tracemill.runtime.rules.check_rule import check_rule
    from tracemill.runtime.rules.custom_rule import custom_rule

# A name is imported when it is first used: `import tracemill` costs next to nothing.
_HOMES = {
    "compiler.errors": ("TracemillError",),
    "compiler.ir": ("Graph",),
    "compiler.numpy_surface.array_api": ("array_api",),
    "compiler.text.parser": ("parse",),
    "compiler.shapes": ("Dim",),
    "compiler.numpy_surface.indexing.top_k": ("top_k",),
    "compiler.interpreter": ("Interpreter", "Transformer"),
    "passes.replace_pattern": ("replace_pattern",),
    "runtime.artifact.artifact": ("Artifact",),
    "runtime.artifact.export": ("export",),
    "runtime.artifact.loaded_function": ("LoadedFunction",),
    "runtime.artifact.loading": ("load",),
    "runtime.control_flow.associative_scan": ("associative_scan",),
    "runtime.control_flow.cond": ("cond", "switch"),
    "runtime.eager.anomaly": ("detect_anomaly",),
    "runtime.rules.callback": ("pure_callback",),
    "runtime.rules.check_rule": ("check_rule",),
    "runtime.derivatives.checkpoint": ("checkpoint", "checkpoint_name"),
    "runtime.compilation.compile": ("compile",),
    "runtime.compilation.compiled_function": ("CompiledFunction",),
    "runtime.rules.custom_rule": ("custom_rule",),
    "runtime.eager.debug_print": ("debug_print",),
    "runtime.derivatives.jvp_vjp": ("jvp", "linearize", "vjp"),
    "runtime.control_flow.fori_loop": ("fori_loop",),
    "runtime.gpu.device_array": ("DeviceArray",),
    "runtime.gpu.device_put": ("device_put",),
    "runtime.autograd.gradcheck": ("gradcheck", "gradgradcheck"),
    "runtime.derivatives.grad": ("grad", "grad_and_value", "value_and_grad"),
    "runtime.derivatives.jacobians.hessian_diagonal": ("hessian_diag", "laplacian"),
    "runtime.derivatives.jacobians.hvp": ("hvp",),
    "runtime.derivatives.jacobians.jacobians": ("hessian", "jacfwd", "jacobian", "jacrev"),
    "runtime.control_flow.map": ("map",),
    "runtime.batching.collectives": (
        "all_gather",
        "axis_index",
        "axis_size",
        "pmax",
        "pmean",
        "pmin",
        "ppermute",
        "psum",
    ),
    "runtime.autograd.nan_report": ("nan_report",),
    "runtime.eager.pytrees": ("register_dataclass", "register_pytree"),
    "runtime.control_flow.scan": ("scan",),
    "runtime.derivatives.jacobians.coloured_derivatives": ("Sparsity",),
    "runtime.derivatives.jacobians.sparse_jacobians": ("sparsity",),
    "runtime.derivatives.stop_gradient": ("stop_gradient",),
    "runtime.machine.result_memory": ("MemoryStats", "memory_stats"),
    "runtime.machine.threads": ("get_num_threads", "set_num_threads"),
    "runtime.batching.vmap": ("chunk_vmap", "vmap"),
    "runtime.control_flow.while_loop": ("while_loop",),
}
_MODULES = {
    "autograd": "runtime.autograd",
    "checkpoint_policies": "runtime.derivatives.checkpoint_policies",
    "dask": "runtime.dask",
    "errors": "compiler.errors",
    "linalg": "compiler.numpy_surface.linalg.beyond_numpy",
    "nn": "compiler.nn",
    "numpy": "compiler.numpy_surface.indexing.sized",
    "random": "runtime.random",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Artifact",
    "CompiledFunction",
    "DeviceArray",
    "Dim",
    "Graph",
    "Interpreter",
    "LoadedFunction",
    "MemoryStats",
    "Sparsity",
    "TracemillError",
    "Transformer",
    "all_gather",
    "array_api",
    "associative_scan",
    "autograd",
    "axis_index",
    "axis_size",
    "check_rule",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "chunk_vmap",
    "compile",
    "cond",
    "custom_rule",
    "dask",
    "debug_print",
    "detect_anomaly",
    "device_put",
    "errors",
    "export",
    "fori_loop",
    "get_num_threads",
    "grad",
    "grad_and_value",
    "gradcheck",
    "gradgradcheck",
    "hessian",
    "hessian_diag",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "laplacian",
    "linalg",
    "linearize",
    "load",
    "map",
    "memory_stats",
    "nan_report",
    "nn",
    "numpy",
    "parse",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "pure_callback",
    "random",
    "register_dataclass",
    "register_pytree",
    "replace_pattern",
    "scan",
    "set_num_threads",
    "sparsity",
    "stop_gradient",
    "switch",
    "top_k",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


def _imported(name: str) -> Any:
    """A module. Collecting garbage meanwhile would take a tenth of the time, though nearly all that is made stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(f"tracemill.{name}")
    finally:
        if was_enabled:
            gc.enable()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _imported(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'tracemill' has no attribute {name!r}")
    found = getattr(_imported(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
