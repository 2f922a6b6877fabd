"""All samples and failures: the lists ``SAMPLES`` and ``FAILURES`` of the module of each family of ops.

A module is imported, and so its samples are made, when a test first asks for them.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from samples.lazy import Lazy
from samples.sample import Failure, Sample
from tracemill.compiler import ops
from tracemill.compiler.op import lookup

FAMILIES = {family.__name__.rpartition(".")[2]: family.__name__ for family in ops.FAMILIES}
"""The families of ops by name, with the names of their modules."""


@cache
def module_of(family: str) -> ModuleType:
    """The module with a family's samples."""
    return import_module(FAMILIES[family].replace("tracemill.compiler.ops", "samples"))


def samples_of(op: str) -> Lazy[Sample]:
    """The samples of one op. Those of other families are not made."""
    return Lazy(lambda: (s for s in module_of(lookup(op).family).SAMPLES if s.op == op))


SAMPLES: Lazy[Sample] = Lazy(lambda: (sample for name in FAMILIES for sample in module_of(name).SAMPLES))
FAILURES: Lazy[Failure] = Lazy(lambda: (failure for name in FAMILIES for failure in module_of(name).FAILURES))
