"""The C compiler is found as the environment says, asked once what it can do, and its failures are named."""

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from tracemill.compiler.backends.c.flags import FAST, LONG
from tracemill.compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from tracemill.runtime.machine import toolchain as module
from tracemill.runtime.machine.compiler_features import FEATURES, REQUIRED
from tracemill.runtime.machine.machine_facts import recall
from tracemill.runtime.machine.toolchain import toolchain, why_this, working_toolchain

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the C backend is for Linux and macOS")


@pytest.fixture(autouse=True)
def nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder without a compiler, and no settings of the user's."""
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TRACEMILL_CC", "CC"):
        monkeypatch.delenv(name, raising=False)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def counting(compiler: str, folder: Path) -> Path:
    """A compiler that notes each of its calls."""
    return script(folder / "counting-cc", f'echo "$@" >> {folder}/calls\nexec {compiler} "$@"')


def calls(folder: Path) -> int:
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def forget() -> None:
    """What another process would know: what is on disk."""
    module._known.cache_clear()


# ---- which one ---------------------------------------------------------------------------------------


def test_tracemills_setting_takes_precedence(c_compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    monkeypatch.setenv("TRACEMILL_CC", c_compiler)
    assert toolchain().command == (c_compiler,)


def test_a_setting_may_have_arguments(c_compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{c_compiler} -DNOTHING=1")
    assert toolchain().command == (c_compiler, "-DNOTHING=1")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("usual", ["false", "no-such-compiler", "  "])
def test_a_usual_setting_that_does_not_work_is_passed_over(
    c_compiler: str, monkeypatch: pytest.MonkeyPatch, usual: str
) -> None:
    monkeypatch.setenv("CC", usual)
    assert toolchain().command[0].endswith("cc")


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingCompilerError, match=r"no C compiler is found .*install one .*TRACEMILL_CC"):
        toolchain()
    assert working_toolchain() is None


def packaged(compiler: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `ziglang` that can be imported, with a compiler that works in the way of `compiler`."""
    package = folder / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)
    return script(package / "zig", f'PATH=/usr/bin:/bin\nshift\nexec {compiler} "$@"')


def test_the_compiler_of_a_package_serves_where_there_is_no_other(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = packaged(c_compiler, tmp_path, monkeypatch)
    assert toolchain().command == (c_compiler,)
    assert why_this(toolchain().command) == "the first of cc, gcc, clang that works"
    assert not capfd.readouterr().err

    monkeypatch.setenv("PATH", "")
    assert toolchain().command == (str(program), "cc")
    assert why_this(toolchain().command) == "from the package ziglang, since no other works"
    assert "prepares the C compiler of the package ziglang (once" in capfd.readouterr().err
    forget()
    assert toolchain().command == (str(program), "cc")
    assert not capfd.readouterr().err
    assert toolchain().compile("int one;\n")


def test_a_package_without_its_compiler_is_passed_over(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged(c_compiler, tmp_path, monkeypatch).unlink()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingCompilerError, match=r"pip install 'tracemill\[cc\]'"):
        toolchain()


def test_a_named_compiler_is_why(c_compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CC", "TRACEMILL_CC"):
        monkeypatch.setenv(name, f"{c_compiler} -DNOTHING=1")
        assert why_this(toolchain().command) == f"named in {name}"


def test_a_setting_that_names_nothing_is_not_passed_over(
    c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", "no-such-compiler")
    for _ in range(2):
        with pytest.raises(
            MissingCompilerError, match="TRACEMILL_CC=no-such-compiler does not name a program"
        ):
            toolchain()


def test_a_compiler_that_fails_at_all_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = script(tmp_path / "broken-cc", "echo 'out of licences' >&2; exit 3")
    monkeypatch.setenv("TRACEMILL_CC", str(broken))
    for _ in range(2):
        with pytest.raises(CompilerError, match=r"failed \(exit status 3\) on .*program.c:\nout of licences"):
            toolchain()
    with pytest.warns(CompilerWarning, match="out of licences"):
        assert working_toolchain() is None
    assert working_toolchain() is None


def test_a_compiler_that_cannot_be_run_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cc"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o700)
    monkeypatch.setenv("TRACEMILL_CC", str(path))
    with pytest.raises(CompilerError, match="cannot be run"):
        toolchain()


# ---- what it can do ----------------------------------------------------------------------------------


def test_a_compiler_is_asked_once_and_remembered_on_disk(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", str(counting(c_compiler, tmp_path)))
    found = toolchain()
    asked = calls(tmp_path)
    assert asked > 0
    assert toolchain() is found
    forget()
    assert toolchain() == found
    assert calls(tmp_path) == asked


def test_a_compiler_that_has_changed_is_asked_again(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = counting(c_compiler, tmp_path)
    monkeypatch.setenv("TRACEMILL_CC", str(path))
    toolchain()
    asked = calls(tmp_path)
    os.utime(path, (1, 1))
    forget()
    toolchain()
    assert calls(tmp_path) == 2 * asked


def test_what_is_remembered_for_another_processor_does_not_count(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", str(counting(c_compiler, tmp_path)))
    toolchain()
    asked = calls(tmp_path)
    monkeypatch.setattr(module, "processor_digest", lambda: "another")
    forget()
    assert toolchain().identity()["processor"] == "another"
    assert calls(tmp_path) == 2 * asked


def test_programs_of_a_removed_compiler_stay_in_the_cache(
    c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = toolchain()
    monkeypatch.setenv("PATH", "")
    assert toolchain().identity() == found.identity()
    with pytest.raises(MissingCompilerError):
        toolchain().compile("")


@pytest.mark.parametrize("text", ['{"stamp": []}', '{"stamp": 1, "flags": 2}', '{"version": "gcc"}'])
def test_of_a_compiler_that_is_gone_a_damaged_memory_knows_nothing(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    toolchain()
    (tmp_path / "cache" / "toolchain.json").write_text(text)
    monkeypatch.setenv("PATH", "")
    forget()
    with pytest.raises(MissingCompilerError, match="no C compiler is found"):
        toolchain()


def test_what_another_user_could_have_written_is_not_believed(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", str(counting(c_compiler, tmp_path)))
    toolchain()
    assert recall("toolchain")
    (tmp_path / "cache").chmod(0o777)
    assert not recall("toolchain")
    asked = calls(tmp_path)
    forget()
    toolchain()
    assert calls(tmp_path) == 2 * asked


def test_what_another_version_asked_does_not_count(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", str(counting(c_compiler, tmp_path)))
    toolchain()
    asked = calls(tmp_path)
    monkeypatch.setattr(module, "REQUIRED", (*REQUIRED, "-fno-plt"))
    forget()
    toolchain()
    assert calls(tmp_path) == 2 * asked


@pytest.mark.parametrize("name", ["TRACEMILL_CC", "CC"])
def test_a_setting_that_is_not_a_command_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CC", raising=False)
    monkeypatch.setenv(name, "gcc 'with half a quotation")
    with pytest.raises(
        CompilerError, match=f"^{name}=gcc 'with .* is not a command .*: correct it, or unset it"
    ):
        toolchain()


def test_where_one_compiler_is_named_nothing_else_is_read(
    c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", c_compiler)
    monkeypatch.setenv("CC", "gcc 'with half a quotation")
    assert toolchain().command == (c_compiler,)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"stamp": 1}', '{"stamp": []}', '{"stamp": {}}', "[" * 100000]
)
def test_damaged_facts_are_ignored(c_compiler: str, tmp_path: Path, text: str) -> None:
    found = toolchain()
    (tmp_path / "cache" / "toolchain.json").write_text(text)
    forget()
    assert toolchain() == found


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag", ["-march=native", "-fopenmp-simd", "-DTM_VECTOR_MATH", "-mprefer-vector-width=512"]
)
def test_a_flag_that_does_not_work_is_left_out_and_said_why(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    refusing = (
        f'for a in "$@"; do [ "$a" = {flag} ] && {{ echo "cc: error: no {flag} here" >&2; exit 1; }}; done'
    )
    path = script(tmp_path / "refusing-cc", f'{refusing}\nexec {c_compiler} "$@"')
    monkeypatch.setenv("TRACEMILL_CC", str(path))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    found = toolchain()
    assert not list(temporary.iterdir())
    assert flag not in found.flags
    asked = next(feature for feature in FEATURES if (flag,) in feature.alternatives)
    if not any(set(alternative) <= set(found.flags) for alternative in asked.alternatives):
        assert f"no {flag} here" in dict(found.why_not)[asked.name]


def test_fast_math_leaves_the_arithmetic_of_the_process_alone(c_compiler: str) -> None:
    assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"} & {
        *REQUIRED,
        *FAST,
        *toolchain().flags,
    }


# ---- compiling ---------------------------------------------------------------------------------------


def test_an_error_shows_the_message_the_command_and_the_file_which_is_kept(c_compiler: str) -> None:
    with pytest.raises(CompilerError) as caught:
        toolchain().compile("int f( {\n")
    message = str(caught.value)
    path = Path(message.split(" on ")[1].split(":", maxsplit=1)[0])
    assert path.read_text() == "int f( {\n"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "program.c:1:" in message
    assert f"The command was: {toolchain().command[0]} -O3" in message


def test_a_text_may_hold_any_letter(c_compiler: str) -> None:
    assert toolchain().compile("int f(void) { return 1; } // ∂f/∂x\n")[:4] != b""


def test_programs_are_made_for_a_compiler_its_flags_and_a_processor(c_compiler: str) -> None:
    assert set(toolchain().identity()) == {"compiler", "flags", "processor", "threads"}
    assert sys.platform != "linux" or "-march=native" in toolchain().identity()["flags"]


@pytest.mark.usefixtures("fully_optimised")
def test_long_texts_are_compiled_with_less_ado(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", str(counting(c_compiler, tmp_path)))
    compiler = toolchain()
    for text in ("", " " * LONG):
        compiler.compile(f"int one(void) {{ return 1; }}{text}")
    short, long = (tmp_path / "calls").read_text().splitlines()[-2:]
    assert "-O2" not in short
    assert "-O2 -ftree-vectorize --param=max-inline-insns-single=200" in long
