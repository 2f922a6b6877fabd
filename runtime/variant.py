"""A function compiled for one signature."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.errors import ArgumentValueError
from ..compiler.program import describe, trace
from ..compiler.traced_array import is_traced
from .build import build
from .donation import donated_inputs, to_overwrite
from .entry import always_miss, generate_entry
from .gpu.device_array import DeviceArray
from .numpy_generators import refusing_draws
from .signature import NumberSpec, Signature, arguments_for, gpu_of
from .stage_times import stage
from .target import Target, target_of
from .transform import inputs_of, overwrite


class Variant:
    """The program of one signature, its build, and its generated entry."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        backend: str,
        fast_math: bool = False,
        donate_argnums: tuple[int, ...] = (),
        lock: Path | None = None,
        code: Mapping[str, Mapping[str, bytes]] | None = None,
    ) -> None:
        self.signature = signature
        self.function = function
        with refusing_draws(function), stage("trace"):
            self.program = trace(function, signature.tree, arguments_for(signature), is_kept=True)
        self.donated = donated_inputs(signature, donate_argnums)
        """The inputs of the program whose memory results may take."""
        self.uses_variables = any(map(is_traced, self.program.captured))
        """The function reaches variables: each call must be recorded, so nothing is built."""
        self.entry: Callable[..., Any] = always_miss
        """``entry(args, kwargs)``: the result, or MISS if the call needs the general way."""
        if not self.uses_variables:
            target = target_of(backend, fast_math, gpu_of(signature, self.program.captured), lock)
            self._build(replace(target, code=code) if code else target)

    def _build(self, target: Target) -> None:
        self.build = build(self.program.graph, target, self.donated)
        self.zero_d = {leaf.index: leaf for leaf in self.program.array_outputs}
        if not self.program.mutated and not self.program.frozen:
            self.entry = (
                generate_entry(self.signature, self.program, self.build.function, self.donated) or always_miss
            )

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        """The general way: run on the leaves of a call that has this signature."""
        arrays = [
            spec.dtype.type(leaf) if isinstance(spec, NumberSpec) else leaf
            for leaf, spec in zip(leaves, self.signature.specs, strict=True)
            if spec.is_traced
        ]
        inputs = inputs_of(self.program, arrays)
        for index, _ in self.program.mutated:
            if isinstance(inputs[index], DeviceArray):
                self._check_alone(inputs, index)
            elif _overlaps(inputs, index):
                return self.function(*args, **kwargs)  # the written memory is shared: run it as it stands
        for index in self.donated:
            inputs[index] = to_overwrite(inputs[index], inputs[:index] + inputs[index + 1 :])
        outputs = self.build.function(*inputs)
        for index, output in self.program.mutated:
            overwrite(inputs[index], outputs[output])
        return self.program.result([self._as_numpy_gives(i, out) for i, out in enumerate(outputs)])

    def _as_numpy_gives(self, index: int, output: Any) -> Any:
        """0-d results as the function would give them: arrays, NumPy scalars, or Python numbers."""
        leaf = self.zero_d.get(index)
        if leaf is not None and leaf.weak is not None:
            return output.item()
        if isinstance(output, DeviceArray) or np.ndim(output):
            return output
        is_scalar = leaf is not None and leaf.is_scalar
        return output[()] if is_scalar else np.asarray(output)

    def _check_alone(self, inputs: list[Any], index: int) -> None:
        """`ArgumentValueError` if a written array on a GPU has memory in common with others, which no program knows."""
        names = list(self.program.graph.input_names)
        for number, array in enumerate(self.program.captured, len(self.program.arguments)):
            names[number] = (
                f"an array {array.type} that it closes over" if isinstance(array, DeviceArray) else ""
            )
        shared = [name for name, x in zip(names, inputs, strict=True) if inputs[index].overlaps(x)]
        if len(shared) > 1:
            raise ArgumentValueError(
                f"{describe(self.function)} writes to {names[index]}, which has memory in common with"
                f" {' and '.join(name for name in shared if name != names[index])}: on a GPU, pass a copy, x.copy()"
            )

    @property
    def is_stale(self) -> bool:
        """Whether a captured array whose elements the trace relied on has changed since."""
        return any(not _equal(array, copy) for array, copy in self.program.frozen)


def _overlaps(inputs: list[Any], index: int) -> bool:
    """Whether the memory of one input may overlap that of another."""
    others = (x for i, x in enumerate(inputs) if i != index and isinstance(x, np.ndarray))
    return any(np.may_share_memory(inputs[index], other) for other in others)


def _equal(array: Any, copy: Any) -> bool:
    return bool(np.array_equal(array, copy, equal_nan=copy.dtype.kind in "fc"))
