"""Artifacts for GPUs: kernels are compiled at export, checked when they are read, and run if there is a suitable
GPU."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import INVALID_IMAGE, INVALID_PTX, UNSUPPORTED_PTX_VERSION, StubGpu, machine_code, ptx
from support.bundles import artifact_of
from tracemill.compiler.errors import (
    ArgumentValueError,
    ArtifactError,
    DimMismatchError,
    GpuCodeError,
    MissingPackageError,
)
from tracemill.runtime.bundle.manifest import FORMAT
from tracemill.runtime.bundle.targets import member_of
from tracemill.runtime.bundle.writing import bundle_bytes
from tracemill.runtime.gpu import device as devices
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu_programs import gpu_strategy
from tracemill.runtime.gpu_programs.stored_code import build_of_stored
from tracemill.runtime.machine.ptx import kernel_in
from tracemill.runtime.programs.built import statistics
from tracemill.runtime.programs.canonicalize import canonicalize

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted
from support.bundles import members_of

from .bundles import with_manifest

JIT_COMPILER_NOT_FOUND, JIT_COMPILATION_DISABLED = 221, 223
TABLE = np.cos(np.arange(40.0, dtype=np.float32))
X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)


def softmax(x: Any) -> Any:
    z = np.exp(x - x.max(axis=-1, keepdims=True)) * TABLE
    return z / z.sum(axis=-1, keepdims=True)


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StubGpu]:
    """A GPU with kernels that Triton's interpreter runs, including those that are built ahead of time."""
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    with interpreted(stub_gpu):
        monkeypatch.setattr(
            "tracemill.runtime.gpu_programs.ahead.build_program", vars(gpu_strategy)["build_program"]
        )
        yield stub_gpu


@pytest.fixture
def without_triton(card: StubGpu) -> Iterator[StubGpu]:
    """A GPU for which programs are built ahead of time alone: where they are loaded, there is no Triton."""

    def missing(*_: Any) -> Any:
        raise MissingPackageError("compiling for GPUs needs Triton")

    with pytest.MonkeyPatch.context() as patch:  # undone before `card` undoes its own
        patch.setattr("tracemill.runtime.gpu_programs.gpu_strategy.build_program", missing)
        yield card


def test_code_from_a_file_runs_where_the_gpu_is(card: StubGpu, tmp_path: Path) -> None:
    artifact = tm.export(softmax, "f32[6, 40]", targets=("cpu", "cuda:sm_90"))
    assert artifact.targets == ("cpu", "cuda:sm_90")
    path = artifact.save(tmp_path / "f.tmill")
    names = set(members_of(path.read_bytes()))
    assert {
        "plans/sm_90_plan.json",
        "kernels/sm_90_kernel_0.cubin",
        "kernels/sm_90_kernel_0.ptx",
        "src/sm_90_kernels.py",
        "consts/0.npy",
    } <= names
    assert not [name for name in names if name.endswith(".bin")], "arrays of the graph are stored once"
    before = statistics.compiled
    f = tm.load(path, backend="triton", trust_code=True)
    np.testing.assert_allclose(f(X), softmax(X), rtol=1e-5)
    assert statistics.compiled == before
    assert len(card.launches) == 1
    on_gpu = tm.load(path, trust_code=True)(tm.device_put(X))
    assert isinstance(on_gpu, tm.DeviceArray)
    assert statistics.compiled == before
    np.testing.assert_allclose(tm.load(path, backend="numpy")(X), softmax(X), rtol=1e-5)


def test_machine_code_in_a_file_is_run_only_where_it_is_trusted(card: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_90")
    before = statistics.compiled
    f = tm.load(path, backend="triton")
    np.testing.assert_allclose(f(X), softmax(X), rtol=1e-5)
    assert statistics.compiled == before + 1, "kernels are made of the graph"
    again = pickle.loads(pickle.dumps(f))
    assert not again.artifact.trusts_code
    assert tm.load(path, trust_code=True).artifact.trusts_code


def test_without_triton_it_is_said_that_code_can_be_trusted(without_triton: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_90")
    with pytest.raises(
        MissingPackageError, match=r"needs Triton; or run .*tm\.load\(path, trust_code=True\)"
    ):
        tm.load(path, backend="triton")(X)
    np.testing.assert_allclose(tm.load(path, backend="triton", trust_code=True)(X), softmax(X), rtol=1e-5)


def layers(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    return (h - h.mean(axis=0)) * x.shape[0], h.reshape(-1)


def test_code_with_named_sizes_runs_for_all_of_them_and_for_no_others(
    without_triton: StubGpu, tmp_path: Path
) -> None:
    rows = tm.export(softmax, "f32[B, 40]", constraints="B in 1..40", targets="cuda:sm_90")
    both = tm.export(
        layers, "x: f32[B, 2*K]", "w: f32[2*K, N]", constraints=("B >= 1", "N <= B"), targets="cuda:sm_90"
    )
    before = statistics.compiled
    f = tm.load(rows.save(tmp_path / "rows.tmill"), backend="triton", trust_code=True)
    for count in (1, 7, 33, 40):
        x = np.linspace(-3, 3, count * 40, dtype=np.float32).reshape(count, 40)
        np.testing.assert_allclose(f(x), softmax(x), rtol=1e-5)
    with pytest.raises(
        DimMismatchError,
        match=r"softmax: axis 0 of x: dim B is 41 in this call, and its limits are B in 1\.\.40",
    ):
        f(np.ones((41, 40), np.float32))
    g = tm.load(both.save(tmp_path / "both.tmill"), backend="triton", trust_code=True)
    rng = np.random.default_rng(0)
    for b, k, n in ((1, 1, 1), (9, 3, 0), (70, 20, 33)):
        y, w = (rng.normal(size=shape).astype(np.float32) for shape in ((b, 2 * k), (2 * k, n)))
        for found, expected in zip(g(y, w), layers(y, w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(DimMismatchError, match="B >= N"):
        g(np.ones((2, 4), np.float32), np.ones((4, 3), np.float32))
    assert statistics.compiled == before


def test_code_in_a_file_of_the_first_format_is_read(card: StubGpu) -> None:
    artifact = tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90")
    members = members_of(bundle_bytes(artifact))
    for name in artifact.code["cuda:sm_90"]:
        if (now := member_of("cuda:sm_90", name, FORMAT)) in members:
            members[member_of("cuda:sm_90", name, 1)] = members.pop(now)

    def older(manifest: dict[str, Any]) -> None:
        manifest["format"] = 1
        manifest["members"] = {name: found for name, found in manifest["members"].items() if name in members}

    assert artifact_of(with_manifest(members, older)).code == artifact.code


def test_what_is_made_of_it_is_compiled_for_this_gpu(card: StubGpu) -> None:
    f = tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90").function(backend="triton")
    before = statistics.compiled
    np.testing.assert_allclose(tm.compile(lambda x: 2 * f(x), backend="triton")(X), 2 * softmax(X), rtol=1e-5)
    assert statistics.compiled == before + 1


def test_code_that_does_not_fit_its_plan_is_refused(card: StubGpu) -> None:
    good = bundle_bytes(tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90"))
    document = json.loads(members_of(good)["plans/sm_90_plan.json"])
    kernel = document["kernels"][0]
    name, pointers = kernel["name"], kernel["pointers"]

    def refused(member: str, content: bytes, message: str) -> None:
        members = {**members_of(good), member_of("cuda:sm_90", member, FORMAT): content}
        with pytest.raises(ArtifactError, match=f"the code for 'cuda:sm_90': .*{message}"):
            artifact_of(with_manifest(members, lambda manifest: None))

    cubin = "kernel_0.cubin"
    refused(cubin, b"no code", "cannot be read as a cubin")
    refused(cubin, machine_code(90, other=pointers), "has no kernel")
    refused(cubin, machine_code(90, **{name: pointers + 1}), "the parameters of .* lie at")
    refused(cubin, machine_code(80, **{name: pointers}), "is for sm_80, not for sm_90")

    text = "kernel_0.ptx"
    refused(text, b"", "not PTX with one kernel")
    refused(text, ptx("other", pointers, "90a"), "the PTX of .* is of other")
    refused(text, ptx(name, pointers + 1, "90a"), "the parameters of .* lie at")
    refused(text, ptx(name, pointers, "90a", threads=999), "has 999 threads")
    refused(text, ptx(name, pointers, "80"), "for sm_80, not sm_90")

    def with_plan(change: Any) -> bytes:
        other = json.loads(json.dumps(document))
        change(other)
        return json.dumps(other).encode()

    plan = "plan.json"
    refused(plan, b" " * (1 << 24) + b"{}", "bytes, and at most 16777216 are read")
    refused(plan, b"[" * 10**5, "this is not a program for a GPU")
    refused(plan, with_plan(lambda d: d["plan"].update(format=2)), "a plan of format 2")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=-1)), "not negative")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=float("nan"))), "not negative")
    refused(plan, with_plan(lambda d: d["plan"].update(arena_bytes=2**60)), "more than there are")
    refused(plan, with_plan(lambda d: d["plan"].update(inputs=[])), "beyond its memory")
    refused(plan, with_plan(lambda d: d["kernels"][0].update(warps=10**6)), "warps would be launched")
    refused(plan, with_plan(lambda d: d["kernels"][0].update(pointers=1)), "the parameters of")
    refused(plan, with_plan(lambda d: d["kernels"].clear()), "launches a function that is not beside it")
    refused(plan, with_plan(lambda d: d["plan"]["steps"][0]["slots"].pop()), "with other arguments")
    refused("kernels.py", b"\xff", "this is not a program for a GPU")


def saved(path: Path, *targets: str) -> Path:
    return tm.export(softmax, "f32[6, 40]", targets=targets).save(path / "f.tmill", overwrite=True)


def test_a_newer_gpu_runs_the_ptx_of_the_nearest_older_one(
    without_triton: StubGpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = saved(tmp_path, "cuda:sm_80", "cuda:sm_86", "cuda:sm_90", "cuda:sm_120")
    without_triton.describe(capability=(10, 0))
    caplog.set_level("INFO", logger="tracemill")
    f = tm.load(path, backend="triton", trust_code=True)
    np.testing.assert_allclose(f(X), softmax(X), rtol=1e-5)
    (text,) = without_triton.compiled
    assert ".target sm_86\n" in text, "sm_90a is for that alone, and sm_120 is newer"
    said = "PTX of cuda:sm_86, which the driver compiles for cuda:0, a cuda:sm_100"
    assert f"softmax: {said}; export with targets='cuda:sm_100' for code of its own" in caplog.messages
    artifact = f.artifact
    built = build_of_stored(artifact.code, canonicalize(artifact.graph, "triton"), gpu())
    assert built is not None
    assert built.source.startswith(f"# {said}\n")
    assert str(built.function).startswith(f"# {said}\nplan softmax(")
    np.testing.assert_allclose(
        tm.load(path, trust_code=True)(tm.device_put(X)).numpy(), softmax(X), rtol=1e-5
    )


def test_machine_code_comes_before_ptx(without_triton: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_80", "cuda:sm_90")
    np.testing.assert_allclose(tm.load(path, backend="triton", trust_code=True)(X), softmax(X), rtol=1e-5)
    assert without_triton.compiled == []


def test_where_the_driver_refuses_machine_code_it_compiles_ptx(
    without_triton: StubGpu, tmp_path: Path
) -> None:
    path = saved(tmp_path, "cuda:sm_90")
    without_triton.fail("cuModuleLoadData", INVALID_IMAGE)
    np.testing.assert_allclose(tm.load(path, backend="triton", trust_code=True)(X), softmax(X), rtol=1e-5)
    assert len(without_triton.compiled) == 1


def test_a_gpu_that_is_older_than_all_code_is_reported(without_triton: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_90", "cuda:sm_86")
    without_triton.describe(capability=(8, 0))
    with pytest.raises(
        GpuCodeError, match=r"is a cuda:sm_80, and there is code for cuda:sm_90, cuda:sm_86.*"
    ):
        tm.load(path, backend="triton", trust_code=True)(X)
    without_triton.describe(capability=(12, 0))
    devices._devices.clear()
    path = saved(tmp_path, "cuda:sm_90", "cuda:sm_100")
    with pytest.raises(GpuCodeError, match="Export it with targets='cuda:sm_120', or install Triton"):
        tm.load(path, backend="triton", trust_code=True)(X)


def test_a_driver_that_is_older_than_the_ptx_is_reported(without_triton: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_80")
    without_triton.describe(driver_version=11070)
    with pytest.raises(
        GpuCodeError, match=r"UNSUPPORTED_PTX_VERSION \(222\).*the driver is older.*CUDA 11\.7"
    ):
        tm.load(path, backend="triton", trust_code=True)(X)
    for error in (INVALID_PTX, JIT_COMPILER_NOT_FOUND, JIT_COMPILATION_DISABLED):
        without_triton.fail("cuModuleLoadData", error)
        with pytest.raises(GpuCodeError, match=rf"\({error}\)"):
            tm.load(path, backend="triton", trust_code=True)(X)
    assert without_triton.compiled == []


def test_what_a_driver_refuses_is_compiled_where_triton_is(card: StubGpu, tmp_path: Path) -> None:
    path = saved(tmp_path, "cuda:sm_80")
    card.fail("cuModuleLoadData", UNSUPPORTED_PTX_VERSION)
    before = statistics.compiled
    np.testing.assert_allclose(tm.load(path, backend="triton", trust_code=True)(X), softmax(X), rtol=1e-5)
    assert (card.compiled, statistics.compiled) == ([], before + 1)


def test_a_file_without_ptx_is_read_and_runs_on_its_own_gpu(without_triton: StubGpu) -> None:
    members = members_of(bundle_bytes(tm.export(softmax, "f32[6, 40]", targets="cuda:sm_90")))
    del members["kernels/sm_90_kernel_0.ptx"]

    def forget(manifest: dict[str, Any]) -> None:
        manifest["members"].pop("kernels/sm_90_kernel_0.ptx")
        manifest["code"]["cuda:sm_90"].remove("kernel_0.ptx")

    artifact = replace(artifact_of(with_manifest(members, forget)), trusts_code=True)
    np.testing.assert_allclose(artifact.function(backend="triton")(X), softmax(X), rtol=1e-5)
    without_triton.describe(capability=(10, 0))
    devices._devices.clear()
    with pytest.raises(GpuCodeError, match="it runs none"):
        artifact.function(backend="triton")(X)


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
    old, new = (kernel_in(f.artifact.code[target]["kernel_0.ptx"]) for target in f.artifact.targets[1:])
    assert (old.architecture, old.is_for_newer, old.version) == (80, True, (7, 8)), "that of CUDA 11.8"
    assert (new.architecture, new.is_for_newer) == (90, False)
    np.testing.assert_allclose(f(X), np.tanh(X).sum(-1), rtol=1e-5)
