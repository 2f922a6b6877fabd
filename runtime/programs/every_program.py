"""The first passes of every program, also of one that runs once and is neither fused nor cached."""

from ...passes.lowering.collect_checks import collect_checks
from ...passes.lowering.decompose import decompose_composites
from ...passes.lowering.inline_rules import inline_rules
from ...passes.simplification.mask_selections import mask_selections
from ...passes.simplification.remove_dead_code import remove_dead_code

INLINING = (inline_rules, collect_checks)
"""No later transform needs the rules in the calls of a program."""

DECOMPOSING = (decompose_composites, mask_selections, remove_dead_code)
