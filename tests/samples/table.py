"""All samples and failures: the lists ``SAMPLES`` and ``FAILURES`` of the module of each family of ops."""

from importlib import import_module

from samples.sample import Failure, Sample
from tracemill.compiler import ops

FAMILIES = tuple(
    import_module(family.__name__.replace("tracemill.compiler.ops", "samples")) for family in ops.FAMILIES
)
SAMPLES: tuple[Sample, ...] = tuple(sample for family in FAMILIES for sample in family.SAMPLES)
FAILURES: tuple[Failure, ...] = tuple(failure for family in FAMILIES for failure in family.FAILURES)
