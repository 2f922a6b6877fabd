"""The page on reliability lists every fault that the campaign tries, and no other."""

from collections import Counter

from faults.table import faults, kind, row, rows_of


def test_the_page_lists_the_faults_of_the_campaign() -> None:
    assert rows_of() == faults()


def test_outcomes_are_counted_by_kind() -> None:
    assert kind("program.py: right numbers, CacheWarning") == "right numbers"
    assert kind("twice: ArtifactError") == "ArtifactError"
    assert row("it rains", Counter({"a: right numbers": 2, "CompilerError": 3})) == (
        "| it rains | 5 | CompilerError (3), right numbers (2) |\n"
    )
