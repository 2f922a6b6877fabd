"""The passes that simplify every program. What finds its code on disk does not need them."""

from ...passes.simplification.fold_constants import fold_constants
from ...passes.simplification.remove_dead_code import remove_dead_code
from ...passes.simplification.share_subexpressions import share_subexpressions
from ...passes.simplification.simplify import simplify

SIMPLIFYING = (simplify, fold_constants, share_subexpressions, simplify, remove_dead_code)
