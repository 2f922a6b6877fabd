"""Artifacts for GPUs: kernels are compiled at export, checked when they are read, and run where such a GPU is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from stub_gpu import StubGpu, machine_code
from tracemill.compiler.errors import ArgumentValueError, ArtifactError
from tracemill.runtime.artifact.loading import artifact_of
from tracemill.runtime.artifact.writing import bundle_bytes
from tracemill.runtime.built import statistics
from tracemill.runtime.gpu import build as gpu_build

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from interpreted_gpu import interpreted

from .bundles import members_of, with_manifest

TABLE = np.cos(np.arange(40.0, dtype=np.float32))
X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)


def softmax(x: Any) -> Any:
    z = np.exp(x - x.max(axis=-1, keepdims=True)) * TABLE
    return z / z.sum(axis=-1, keepdims=True)


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StubGpu]:
    """A GPU whose kernels Triton's interpreter runs, also those that are built ahead of time."""
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    with interpreted(stub_gpu):
        monkeypatch.setattr("tracemill.runtime.gpu.ahead.build_program", vars(gpu_build)["build_program"])
        yield stub_gpu


def test_code_from_a_file_runs_where_the_gpu_is(card: StubGpu, tmp_path: Path) -> None:
    artifact = tm.export(softmax, "f32[6, 40]", targets=("cpu", "cuda:sm_90"))
    assert artifact.targets == ("cpu", "cuda:sm_90")
    path = artifact.save(tmp_path / "f.tmill")
    names = set(members_of(path.read_bytes()))
    assert {"sm_90/plan.json", "sm_90/kernel_0.cubin", "sm_90/kernels.py", "consts/0.npy"} <= names
    assert not [name for name in names if name.endswith(".bin")], "arrays of the graph are stored once"
    before = statistics.compiled
    f = tm.load(path, backend="triton")
    np.testing.assert_allclose(f(X), softmax(X), rtol=1e-5)
    assert statistics.compiled == before
    assert len(card.launches) == 1
    on_gpu = tm.load(path)(tm.device_put(X))
    assert isinstance(on_gpu, tm.DeviceArray)
    assert statistics.compiled == before
    np.testing.assert_allclose(tm.load(path, backend="numpy")(X), softmax(X), rtol=1e-5)


def test_what_is_made_of_it_is_compiled_for_this_gpu(card: StubGpu) -> None:
    f = tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90").function(backend="triton")
    before = statistics.compiled
    np.testing.assert_allclose(tm.compile(lambda x: 2 * f(x), backend="triton")(X), 2 * softmax(X), rtol=1e-5)
    assert statistics.compiled == before + 1


def test_code_that_does_not_fit_its_plan_is_refused(card: StubGpu) -> None:
    good = bundle_bytes(tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90"))
    document = json.loads(members_of(good)["sm_90/plan.json"])
    kernel = document["kernels"][0]
    name, pointers = kernel["name"], kernel["pointers"]

    def refused(member: str, content: bytes, message: str) -> None:
        members = {**members_of(good), f"sm_90/{member}": content}
        with pytest.raises(ArtifactError, match=f"the code for 'cuda:sm_90': .*{message}"):
            artifact_of(with_manifest(members, lambda manifest: None))

    cubin = "kernel_0.cubin"
    refused(cubin, b"no code", "no cubin that can be read")
    refused(cubin, machine_code(90, other=pointers), "has no kernel")
    refused(cubin, machine_code(90, **{name: pointers + 1}), "the parameters of .* lie at")
    refused(cubin, machine_code(80, **{name: pointers}), "is for sm_80, not for sm_90")

    def with_plan(change: Any) -> bytes:
        other = json.loads(json.dumps(document))
        change(other)
        return json.dumps(other).encode()

    plan = "plan.json"
    refused(plan, b" " * (1 << 24) + b"{}", "bytes, and 16777216 are read")
    refused(plan, b"[" * 10**5, "this is no program for a GPU")
    refused(plan, with_plan(lambda d: d["plan"].update(format=2)), "a plan of format 2")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=-1)), "not negative")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=float("nan"))), "not negative")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=2**60)), "more than there are")
    refused(plan, with_plan(lambda d: d["plan"].update(inputs=[])), "beyond its memory")
    refused(plan, with_plan(lambda d: d["kernels"][0].update(warps=10**6)), "warps are to be launched")
    refused(plan, with_plan(lambda d: d["kernels"][0].update(pointers=1)), "the parameters of")
    refused(plan, with_plan(lambda d: d["kernels"].clear()), "launches a function that is not beside it")
    refused(plan, with_plan(lambda d: d["plan"]["steps"][0]["slots"].pop()), "with other arguments")
    refused("kernels.py", b"\xff", "this is no program for a GPU")


def test_targets_that_are_none_are_refused() -> None:
    wrong: list[Any] = ["gpu", "cuda:90", "cuda:sm_9000", "hip:gfx942", None, 90]
    for target in wrong:
        for targets in (target, ["cpu", target]):
            with pytest.raises(ArgumentValueError, match=f"target {target!r} is unknown"):
                tm.export(softmax, "f32[6, 40]", targets=targets)


@pytest.mark.slow
def test_triton_compiles_for_gpus_that_are_not_there(tmp_path: Path) -> None:
    """In a process of its own: where Triton's interpreter is loaded, nothing can be compiled."""
    code = (
        "import sys, numpy as np, tracemill as tm\n"
        "def f(x): return np.tanh(x).sum(-1)\n"
        "tm.export(f, 'f32[6, 40]', targets=('cuda:sm_80', 'cuda:sm_90')).save(sys.argv[1])\n"
    )
    path = tmp_path / "f.tmill"
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables["PYTHONPATH"] = str(Path(__file__).parents[2] / ".root")
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    f = tm.load(path)
    assert f.artifact.targets == ("cpu", "cuda:sm_80", "cuda:sm_90")
    np.testing.assert_allclose(f(X), np.tanh(X).sum(-1), rtol=1e-5)
