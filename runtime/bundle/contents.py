"""`Contents`: what an artifact contains, both for its files and for running its function."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...compiler.arguments.leaves import argument_names, users_name
from ...compiler.errors import ArgumentTypeError
from ...compiler.frontend.program import ArrayOutput, Program
from ...compiler.ir import Graph
from ..variants.signature import Signature
from .interface import Interface
from .targets import CPU


@dataclass(frozen=True, slots=True)
class Settings:
    """The compile options of an exported function."""

    fast_math: bool = False
    donate_argnums: tuple[int, ...] = ()


@dataclass(frozen=True)
class Contents:
    """A program with its signature and settings, which needs neither the exported function nor files."""

    interface: Interface
    """Name, docstring and parameters."""
    signature: Signature
    """The arguments that it takes."""
    program: Program
    """The graph of the program. It captures nothing."""
    settings: Settings
    code: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    """Its code compiled ahead of time: the files of each target for GPUs, by name."""
    trusts_code: bool = field(default=True, compare=False)
    """Whether that code may run. If not, as by default for files, code is generated from the graph."""

    max_steps: int | None = field(default=None, compare=False)
    """The maximum number of steps of each loop of the function in a call, from `load`; None for no limit."""

    def __post_init__(self) -> None:
        parts: dict[str, tuple[object, type]] = {
            "interface": (self.interface, Interface),
            "signature": (self.signature, Signature),
            "program": (self.program, Program),
            "settings": (self.settings, Settings),
            "code": (self.code, Mapping),
        }
        for name, (given, wanted) in parts.items():
            if not isinstance(given, wanted):
                raise ArgumentTypeError(
                    f"{type(self).__name__}: {name} must be its {wanted.__name__}, not {type(given).__name__}: "
                    "tracemill.export(f, ...) makes an Artifact, and tracemill.load(path) reads one"
                )

    @property
    def graph(self) -> Graph:
        """The graph as traced, whose inputs are the leaves of the arguments."""
        return self.program.graph

    @property
    def targets(self) -> tuple[str, ...]:
        """Its targets: ``("cpu", "cuda:sm_90")``."""
        return (CPU, *self.code)

    @property
    def paths(self) -> list[str]:
        """The Python expression for each input of the graph, by the parameters' names: ``weights['w']``."""
        names = argument_names(self.signature.tree)
        shown = [users_name(self.interface.stand_in, name) for name in names]
        return [name for name, spec in zip(shown, self.signature.specs, strict=True) if spec.is_traced]

    @property
    def likely_sizes(self) -> Mapping[str, int]:
        """Values of the named sizes with which it can be tried. Raises `DimSpecError` if none are found."""
        from ...compiler.shapes.likely_sizes import likely_sizes

        known = self.signature.sizes
        return likely_sizes(known.dims, known.assumptions.relations)

    def __str__(self) -> str:
        arguments = ", ".join(
            f"{name}: {value.type}"
            for name, value in zip(self.graph.input_names, self.graph.inputs, strict=True)
        )
        outputs = self.graph.outputs
        results = [str(outputs[leaf.index].type) if isinstance(leaf, ArrayOutput) else repr(leaf.value)
                   for leaf in self.program.out_leaves]  # fmt: skip
        shown = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.interface.name}({arguments}) -> {shown}{self.signature.where}"
