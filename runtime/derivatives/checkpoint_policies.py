"""What `checkpoint` saves for the backward pass, besides its inputs."""

from dataclasses import dataclass

from ...compiler.errors import TransformTypeError
from ...compiler.nesting import shown
from ...compiler.ops.control.checkpoint import require_name

__all__ = ["Policy", "everything", "matmuls", "named", "nothing"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What the forward pass saves; everything else is recomputed.

    >>> named("activations")
    Policy(ops=(), names=('activations',), saves_all=False)
    """

    ops: tuple[str, ...] = ()
    """Ops whose results are saved."""
    names: tuple[str, ...] = ()
    """Names given by `checkpoint_name` to values that are saved."""
    saves_all: bool = False
    """Save everything that the derivative needs."""

    def __post_init__(self) -> None:
        for what, names in {"ops": self.ops, "names": self.names}.items():
            if not isinstance(names, tuple):
                raise TransformTypeError(f"Policy: {what} must be a tuple of strings, not {shown(names)}")
            for name in names:
                require_name(name)
        if not isinstance(self.saves_all, bool):
            raise TransformTypeError(f"Policy: saves_all must be True or False, not {shown(self.saves_all)}")


nothing = Policy()
"""Save only the arguments: the least memory, and the whole forward pass again."""
everything = Policy(saves_all=True)
"""Save everything that the derivative needs, as without `checkpoint`."""
matmuls = Policy(ops=("dot", "conv"))
"""Save the results of matrix products and convolutions, which are slow to recompute."""


def named(*names: str) -> Policy:
    """Save the values that `checkpoint_name` has given one of these names.

    Raises:
        TransformTypeError: (a TypeError) a name is not a string.

    >>> import numpy as np, tracemill as tm
    >>> def layer(x):
    ...     return np.sin(tm.checkpoint_name(np.exp(x), "wide"))
    >>> tm.grad(tm.checkpoint(layer, policy=named("wide")))(0.0)
    np.float64(0.5403023058681398)
    """
    for name in names:
        require_name(name)
    return Policy(names=tuple(names))
