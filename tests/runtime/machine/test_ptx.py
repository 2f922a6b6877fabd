"""What the head of a text of PTX says, and that odd ones are refused in little time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.stub_gpu import ptx
from tracemill.compiler.errors import ParseError
from tracemill.runtime.machine.ptx import LARGEST, PtxFacts, kernel_in

GOOD = ptx("double", 2)
FACTS = kernel_in(GOOD)
HARMLESS = (b"\n", b" ", b"//\n")


def test_the_head_of_a_text_says_what_its_kernel_takes() -> None:
    places = (0, 8), (8, 8), (16, 8), (24, 8)
    assert kernel_in(GOOD) == PtxFacts("double", (7, 8), 80, True, 128, places)
    for variant in ("90a", "120f"):
        assert not kernel_in(ptx("double", 2, variant)).is_for_newer
    assert kernel_in(GOOD.replace(b".reqntid 128", b".maxntid 128, 1, 1\n.maxnreg 64")).threads == 128
    assert kernel_in(GOOD.replace(b".reqntid 128\n", b"")).threads == 0


def test_parameters_are_aligned_to_their_size() -> None:
    first = b".u64 .ptr .global .align 1 double_param_0"
    assert kernel_in(GOOD.replace(first, b".u32 double_param_0")).parameters[:2] == ((0, 4), (8, 8))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b".version 7.8", b""),
        (b".version 7.8", b".version 7.8\n.version 8.0"),
        (b".version 7.8", b".version 0.8"),
        (b".version 7.8", b".version 70000000000000.8"),
        (b".target sm_80", b".target sm_80, debug"),
        (b".target sm_80", b".target sm_80b"),
        (b".target sm_80", b".target sm_80\n.target sm_90"),
        (b".address_size 64", b".address_size 32"),
        (b".version", b"/* .version 7.8\n.target sm_80\n*/ .version"),
        (b"Made for tests", b"Made\0for tests"),
        (b"Made for tests", b"Made\x0bfor tests"),
        (b"Made for tests", b"Made for \xc3\xa9"),
        (b"Made for tests", b'"Made for tests"'),
        (b".visible .entry double", b"// .visible .entry double"),
        (b".visible .entry double", b".visible .entry 2double"),
        (b".visible .entry double", b".weak .entry double"),
        (b"\tret;", b"\tret;\n}\n.visible .entry other()\n{\n\tret;"),
        (b".param .u64 .ptr", b".param .align 64 .b8"),
        (b"double_param_0", b"double_param_0[128]"),
        (b"double_param_0,", b"double_param_0,,"),
        (b".reqntid 128", b".reqntid 128, 2"),
        (b".reqntid 128", b".reqntid 128\n.maxntid 64"),
        (b".reqntid 128", b".reqntid 128\n.reqnctapercluster 2"),
        (b".reqntid 128", b".reqntid -1"),
        (b".reqntid 128", b".reqntid NaN"),
        (b"\n{", b""),
    ],
)
def test_texts_of_another_form_are_refused(old: bytes, new: bytes) -> None:
    assert old in GOOD
    with pytest.raises(ParseError, match="PTX"):
        kernel_in(GOOD.replace(old, new, 1))


@pytest.mark.parametrize("place", [b".version", b".visible", b"\t.param", b".reqntid"])
def test_long_texts_are_read_or_refused_without_going_through_them_again_and_again(place: bytes) -> None:
    for middle in (*HARMLESS, b".x 1\n", b"(", b".param .u64 a,\n", b"a", b".entry "):
        found = read_or_refused(GOOD.replace(place, middle * (10**5 // len(middle)) + place, 1))
        if (place, middle) == (b"\t.param", b".param .u64 a,\n"):
            assert found is not None
            assert len(found.parameters) == len(FACTS.parameters) + 10**5 // len(middle)
        else:  # any text may come before the kernel
            is_read = middle in HARMLESS or (place == b".visible" and middle != b".entry ")
            assert found == (FACTS if is_read else None), middle
    with pytest.raises(ParseError, match="longer than"):
        kernel_in(b" " * (LARGEST + 1))


def read_or_refused(content: bytes) -> PtxFacts | None:
    try:
        return kernel_in(content)
    except ParseError:
        return None


@given(st.binary(max_size=200), st.integers(0, len(GOOD)))
def test_any_bytes_are_read_or_refused(content: bytes, place: int) -> None:
    whole = GOOD[:place] + content + GOOD[place:]
    found = read_or_refused(whole)
    if found is not None:
        major, minor = found.version
        for fact in (f".version {major}.{minor}", f"sm_{found.architecture}", f".entry {found.name}("):
            assert fact.encode() in whole
        assert len(found.parameters) <= len(FACTS.parameters) + content.count(b".param")
    if place > GOOD.index(b"\n{") + 1:  # in the body, which is the driver's to read
        assert found == (FACTS if content.isascii() and b".entry" not in content else None)
