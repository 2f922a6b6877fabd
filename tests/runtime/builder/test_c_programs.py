"""Random programs give through C what their calls mean: many in one library, so that the compiler is called once."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from c.through_c import Run, assert_means_the_same_through_c
from graphs.matrix_graphs import matrix_graphs
from graphs.random_graphs import graphs
from support.recording import drawn
from tracemill.compiler.ir import Graph

pytestmark = pytest.mark.usefixtures("c_compiler", "lightly_optimised")

SLOW = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
    HealthCheck.function_scoped_fixture,
    HealthCheck.differing_executors,
]
EXAMPLES = settings(max_examples=2, deadline=None, suppress_health_check=SLOW)
MANY = settings(EXAMPLES, max_examples=settings().max_examples // 6)
TOGETHER = 12

random_graphs = st.lists(graphs(), min_size=TOGETHER, max_size=TOGETHER)
random_matrix_graphs = st.lists(matrix_graphs(), min_size=TOGETHER, max_size=TOGETHER)


def check(found: list[Graph], ulps: float) -> None:
    runs = [Run(graph, drawn(graph, "real", seed), str(graph)) for seed, graph in enumerate(found)]
    assert_means_the_same_through_c(runs, ulps=ulps)


@EXAMPLES
@given(random_graphs)
def test_random_graphs_give_through_c_what_they_mean(found: list[Graph]) -> None:
    check(found, 2000)


@pytest.mark.slow
@MANY
@given(random_graphs)
def test_more_random_graphs_give_through_c_what_they_mean(found: list[Graph]) -> None:
    check(found, 2000)


@pytest.mark.slow
@MANY
@given(random_matrix_graphs)
def test_views_and_writes_in_place_never_show_in_c(found: list[Graph]) -> None:
    check(found, 0)
