"""All samples and failures: the lists ``SAMPLES`` and ``FAILURES`` of every module beside this one."""

from importlib import import_module
from pathlib import Path

from samples.sample import Failure, Sample

FAMILIES = tuple(
    import_module(f"samples.{file.stem}")
    for file in sorted(Path(__file__).parent.glob("*.py"))
    if file.stem not in {"__init__", "differences", "elementwise", "sample", "table"}
)
SAMPLES: tuple[Sample, ...] = tuple(sample for family in FAMILIES for sample in family.SAMPLES)
FAILURES: tuple[Failure, ...] = tuple(failure for family in FAMILIES for failure in family.FAILURES)
