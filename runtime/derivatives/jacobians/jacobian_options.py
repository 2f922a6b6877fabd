"""The options that `jacrev`, `jacfwd`, `jacobian`, `hessian` and `hvp` share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....compiler.callers.function_names import describe
from ....compiler.errors import TransformArgumentError
from ....compiler.frontend.conversion import converted
from ....compiler.nesting import shown
from ....compiler.tracing.trace import ExampleIndex, require_trace
from ...batching.chunk_size import Chunking, chunking
from ...eager.mapped_axes import MappedAxis, mapping
from ...eager.run import like_function


@dataclass(frozen=True, slots=True)
class JacobianOptions:
    """How to run the mapped function, and whether it may draw random numbers."""

    where: str
    """The transform, in messages: ``jacrev(loss)``."""
    chunks: Chunking
    randomness: str

    def guarding(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func`, which runs once for all directions and draws only if `randomness` allows it. For use in a trace."""

        @like_function(func)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with mapping(MappedAxis(self.where, self.randomness, require_trace(), ExampleIndex(1))):
                return converted(func)(*args, **kwargs)

        return guarded


def jacobian_options(
    transform: str, func: Callable[..., Any], chunk_size: Any, memory_limit: Any, randomness: Any
) -> JacobianOptions:
    """The options of a transform of `func`; raises `TransformArgumentError` for wrong ones."""
    where = f"{transform}({describe(func)})"
    if not isinstance(randomness, str) or randomness not in ("error", "same"):
        hint = "; the function runs once, so that all directions see the same numbers"
        raise TransformArgumentError(
            f"{where}: randomness must be 'error' or 'same', not {shown(randomness)}"
            + (hint if randomness == "different" else "")
        )
    return JacobianOptions(where, chunking(where, chunk_size, memory_limit), randomness)
