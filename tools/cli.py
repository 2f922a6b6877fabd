"""The command ``tracemill``."""

import os
import sys
import sysconfig
import warnings
from linecache import getline
from pathlib import Path
from traceback import walk_tb
from typing import NoReturn, TextIO

import click

from ..compiler.errors import CompilerWarning, HostFallbackWarning, SettingWarning, TracemillError
from ..compiler.tracing import is_library
from ..runtime.cache import CacheWarning
from .bench_command import bench
from .cache_commands import cache
from .coverage_command import coverage_
from .demo_command import demo
from .diff_command import diff
from .doctor import doctor
from .explain_command import explain
from .export_command import export_
from .gpu_check_command import gpu_check
from .inspect_command import inspect
from .lock_commands import lock
from .run_command import run_
from .verify_command import verify

FAILED, INTERRUPTED = 1, 130
_CLICK = str(Path(click.__file__).parent)
_OWN = (str(Path(__file__).parent), sysconfig.get_path("stdlib"))
"""Where no line is the user's."""


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tracemill", message="%(prog)s %(version)s")
@click.pass_context
def tracemill(context: click.Context) -> None:
    """Derivatives, batching and compiled kernels for plain NumPy functions."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    bench,
    cache,
    coverage_,
    demo,
    diff,
    doctor,
    explain,
    export_,
    gpu_check,
    inspect,
    lock,
    run_,
    verify,
):
    tracemill.add_command(command)


def main() -> NoReturn:
    """Run the command. Exits with 0 if it worked, 1 and a line that says why if not, 2 if it was misused.

    ``TRACEMILL_DEBUG=1`` shows tracebacks.
    """
    _print_what_the_stream_can()
    _warn_in_one_line()
    if os.environ.get("TRACEMILL_DEBUG", "0") not in ("", "0"):
        sys.exit(tracemill.main(prog_name="tracemill", standalone_mode=False))
    try:
        status = tracemill.main(prog_name="tracemill", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        status = _complain(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        status = _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:  # such as `tracemill … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    except TracemillError as error:
        status = _complain(f"{type(error).__name__}: {error}", FAILED)
    except Exception as error:
        status = _complain(f"{type(error).__name__}: {error}{_line_of_the_user(error)}", FAILED)
    sys.exit(status)


def _line_of_the_user(error: Exception) -> str:
    """Where in the function that was named on the command line an error of its own was raised."""
    place = ""
    for frame, number in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(_CLICK):  # what came before is how the command was started
            place = ""
        elif not (is_library(file) or file.startswith(_OWN)):
            place = f" at {Path(file).name}:{number}  {getline(file, number).strip()}"
    return place


def _complain(reason: str, status: int) -> int:
    """One line, whatever the reason holds."""
    line = " ".join(reason.split())
    click.echo(f"tracemill: {line}", err=True)
    return status


def _warn_in_one_line() -> None:
    """Of the cache, the compiler, and settings: without the line of ours that noticed it; others keep theirs."""
    show = warnings.showwarning

    def show_short(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, (CacheWarning, CompilerWarning, HostFallbackWarning, SettingWarning)):
            _complain(f"warning: {message}", 0)
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = show_short


def _print_what_the_stream_can() -> None:
    """A pipe with a small character set gets question marks instead of a failure."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
