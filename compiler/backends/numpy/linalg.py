"""NumPy statements of linear algebra: the functions of `numpy.linalg` themselves, called on whole stacks."""

from ...ir import Call
from ...params import text_param
from .form import AS_MEANING, assigned, form
from .module import Scope
from .nested import assigned_tuple, name_outputs


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
    return assigned_tuple(name_outputs(call, scope), f"np.linalg.{call.op}({', '.join(arguments)})")


@form("inv")
def _inverse(call: Call, scope: Scope, target: str | None) -> list[str]:
    if call.params.get("nan_if_singular"):
        return AS_MEANING.write(call, scope, None)
    return assigned(scope.name(call), "np.linalg.inv", [scope.array(call.inputs[0])])
