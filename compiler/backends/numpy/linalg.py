"""NumPy statements of linear algebra: the functions of `numpy.linalg` themselves, called on whole stacks."""

from ...ir import Call
from ...params import text_param
from ..python.module import Scope
from ..python.text import assigned, assigned_tuple
from .definition import DEFINITION
from .form import form


@form("eigh", "eigvalsh", "qr", "slogdet", "svd")
def _factorization(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``eigh_1, eigh_2 = np.linalg.eigh(x)``."""
    arguments = [scope.array(call.inputs[0])]
    if call.params.get("lower") is False:
        arguments.append('"U"')
    if call.params.get("mode", "reduced") != "reduced":
        arguments.append(f'"{text_param(call, "mode")}"')
    if "full_matrices" in call.params:
        arguments.append(f"full_matrices={call.params['full_matrices']}")
    if len(call.outputs) == 1:
        return assigned(scope.name(call), f"np.linalg.{call.op}", arguments)
    return assigned_tuple(scope.name_outputs(call), f"np.linalg.{call.op}({', '.join(arguments)})")


@form("inv")
def _inverse(call: Call, scope: Scope, target: str | None) -> list[str]:
    if call.params.get("nan_if_singular"):
        return DEFINITION.write(call, scope, None)
    return assigned(scope.name(call), "np.linalg.inv", [scope.array(call.inputs[0])])
