"""The call that a command is about: of a named function, or of a function in an artifact."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
import optree

from ...compiler.arguments.leaves import users_name
from ...compiler.shapes.likely_sizes import likely_sizes
from ...runtime.artifact.artifact import Artifact
from ...runtime.artifact.loading import USUAL, Reading, load_artifact
from ...runtime.artifact.saving import EXTENSION
from ...runtime.compilation.compile import compile
from ...runtime.compilation.compiled_function import CompiledFunction
from ...runtime.inspection.lowered import Lowered
from ...runtime.variants.compile_spec import CompileSpec
from ...runtime.variants.signature import Signature, StaticSpec
from ...runtime.variants.symbolic_call import SymbolicCall
from .argument_specs import described_signature
from .named_function import find_function
from .transform_text import apply_transforms


@dataclass(frozen=True)
class DescribedCall:
    """A function with the arguments of a call of it."""

    function: Callable[..., Any]
    """The function as named, or as loaded."""
    changed: Callable[..., Any]
    """The function with the transforms applied."""
    signature: Signature
    artifact: Artifact | None
    """Where it comes from, if it is not a Python function."""

    @property
    def shown_signature(self) -> str:
        """The arguments by parameter name: ``w: f32[784], x: f32[64, 784]``."""
        names = [users_name(self.function, path) for path in self.signature.paths]
        return ", ".join(f"{name}: {spec}" for name, spec in zip(names, self.signature.specs, strict=True))

    @property
    def is_transformed(self) -> bool:
        return self.changed is not self.function

    @property
    def uncompiled(self) -> Callable[..., Any]:
        """A function that runs operation by operation: the Python function, the transform, or the graph of an
        artifact."""
        found: Callable[..., Any] = inspect.unwrap(
            self.changed, stop=lambda outer: not isinstance(outer, CompiledFunction)
        )
        return found

    def compiled(self, backend: str) -> Callable[..., Any]:
        """The function compiled for a backend, with the described settings."""
        if self.artifact is not None and not self.is_transformed:
            return self.artifact.function(backend=backend)
        args, kwargs = self._arguments
        return compile(
            self.changed,
            backend=backend,
            static_argnums=[place for place, spec in enumerate(args) if isinstance(spec, StaticSpec)],
            static_argnames=[name for name, spec in kwargs.items() if isinstance(spec, StaticSpec)],
        )

    @property
    def _symbolic(self) -> SymbolicCall | None:
        """Plausible values of its named sizes."""
        if not self.signature.dims:
            return None
        return SymbolicCall(self.signature, self._likely_sizes)

    @property
    def _likely_sizes(self) -> dict[str, int]:
        known = self.signature.sizes
        return likely_sizes(known.dims, known.assumptions.relations)

    @property
    def sized_signature(self) -> Signature:
        """The signature with plausible numbers for named sizes."""
        return self.signature.at(self._likely_sizes) if self.signature.dims else self.signature

    @property
    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the call, with specs as leaves."""
        args, kwargs = cast(
            "tuple[Any, Any]", optree.tree_unflatten(self.signature.tree, self.signature.specs)
        )
        return args, kwargs

    def lowered(self, backend: str) -> Lowered:
        """Its stages on a backend: of an artifact as exported, or transformed and for other arguments."""
        if self.artifact is None:
            return Lowered(self.changed, self.signature, CompileSpec(backend), symbolic=self._symbolic)
        settings, program = self.artifact.settings, self.artifact.program
        if self.is_transformed:
            spec = CompileSpec(backend, settings.fast_math)
            return Lowered(self.changed, self.signature, spec, symbolic=self._symbolic)
        spec = CompileSpec(backend, settings.fast_math, settings.donate_argnums)
        return Lowered(self.function, self.signature, spec, program=program, symbolic=self._symbolic)


def described_call(
    name: str,
    described: Sequence[str],
    example: Path | None,
    transform: str | None,
    reading: Reading = USUAL,
    constraints: Sequence[str] | None = None,
) -> DescribedCall:
    """The call of ``package.module:function``, ``path/file.py:function`` or ``model.tmill`` that the options
    describe.

    With `constraints`, even an empty one, arrays of a function may have named sizes.

    An artifact has its own arguments: they are described only if a transform changes their shapes. Nothing in it
    runs.

    Raises:
        click.UsageError: there is no such function or file, or it takes other arguments.
        ArtifactError: the artifact is damaged.
    """
    if not name.endswith(EXTENSION):
        function = find_function(name)
        signature = described_signature(function, described, example, constraints)
        changed = apply_transforms(transform, function) if transform else function
        return DescribedCall(function, changed, signature, None)
    if not Path(name).is_file():
        raise click.UsageError(f"there is no file {name}")
    artifact = load_artifact(name, reading)
    loaded = artifact.function()
    is_described = bool(described) or example is not None
    if is_described and not transform:
        raise click.UsageError(f"{name} already has its arguments: {artifact}. Leave --in and --example out")
    signature = described_signature(loaded, described, example) if is_described else artifact.signature
    changed = apply_transforms(transform, loaded) if transform else loaded
    return DescribedCall(loaded, changed, signature, artifact)
