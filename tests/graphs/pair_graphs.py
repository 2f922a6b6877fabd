"""Graphs of two ops, one of which feeds the other: made from the samples of both."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from c.through_c import Run
from samples.sample import Sample
from tracemill.compiler.builder import Builder, inline, recording
from tracemill.compiler.dtypes import DType, is_inexact
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.value_ops import convert, reshape


def joined(producer: Sample, consumer: Sample) -> Run | None:
    """The consumer's call with the producer's first output for its first input that this fits, if there is one."""
    (made, *_) = producer.graph().outputs
    for place, type in enumerate(consumer.types):
        if made.type.size == type.size > 0 and _goes_into(made.dtype, type.dtype):
            return _run(producer, consumer, place)
    return None


def _goes_into(given: DType, wanted: DType) -> bool:
    """Whether the numbers are the same there, with the same rounding errors; fractions are not indices."""
    return given == wanted or (given.kind in "biu" and is_inexact(wanted))


def _run(producer: Sample, consumer: Sample, place: int) -> Run:
    first = [Value(type) for type in producer.types]
    others = [Value(type) for type in consumer.types]
    wanted = others.pop(place)
    with recording(Builder()) as builder:
        made, *_ = inline(producer.graph(), first)
        fed = convert(reshape(made, wanted.shape), wanted.dtype)
        outputs = inline(consumer.graph(), [*others[:place], fed, *others[place:]])
    arrays = consumer.arrays(1)
    arrays.pop(place)
    graph = Graph("pair", (*first, *others), tuple(builder.calls), tuple(outputs))
    return Run(graph, [*producer.arrays(), *arrays], f"{producer.id} -> {consumer.id}")


def pairs(producers: Sequence[Sample], consumers: Sequence[Sample], seed: int) -> Iterator[Run]:
    """A pair of samples for each pair of ops that has one, in a random order."""
    rng = np.random.default_rng(seed)
    seen: set[tuple[str, str]] = set()
    all_pairs = list(product(producers, consumers))
    for number in rng.permutation(len(all_pairs)):
        producer, consumer = all_pairs[number]
        if (producer.op, consumer.op) in seen:
            continue
        run = joined(producer, consumer)
        if run is not None:
            seen.add((producer.op, consumer.op))
            yield run
