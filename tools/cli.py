"""The command ``tracemill``. It imports only the requested command, so that help is fast."""

import errno
import os
import sys
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Final, NoReturn, TextIO, TypeGuard

import click

FAILED, INTERRUPTED = 1, 130
_STDERR: Final = 2
"""The number of the last standard stream."""
_PRINTING: Final = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EFBIG)
"""Why writing to standard output failed."""

COMMANDS: Final = {
    "bench": ("bench_command:bench", "Time a function compiled and uncompiled, or Tracemill's own costs."),
    "cache": ("cache_commands:cache", "Inspect and clean the disk cache of generated programs."),
    "coverage": (
        "coverage_command:coverage_",
        "List the ops, their rules, and the NumPy functions that can be traced.",
    ),
    "demo": ("demo_command:demo", "Train a network to read digits, and compare it with handwritten NumPy."),
    "diff": ("diff_command:diff", "Compare two artifacts, or two graphs as text."),
    "doctor": ("doctor:doctor", "Report what is installed, whether it works, and what is missing."),
    "explain": ("explain_command:explain", "Show the manual page of an error, or list all errors."),
    "export": ("export_command:export_", "Write a function to a file that no longer needs its Python code."),
    "gpu-check": (
        "gpu_check_command:gpu_check",
        "Check programs on the first GPU, and time them against PyTorch and JAX.",
    ),
    "inspect": (
        "inspect_command:inspect",
        "Show each stage of a function: graph, passes, kernels, source, cost.",
    ),
    "lock": ("lock_commands:lock", "Check the lock file, which holds the kernel choices of autotune=True."),
    "run": ("run_command:run_", "Run an artifact on arrays stored in files."),
    "verify": (
        "verify_command:verify",
        "Check an artifact: its digests, graph, machine code, and a test run.",
    ),
}
"""Where each command is defined, and its line in the list of commands."""


class _Lazy(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(f".commands.{module}", __package__), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, 1)
            meant = f" (Did you mean {near[0]!r}?)" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant} Commands: tracemill --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in sorted(COMMANDS.items())])


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tracemill", message="%(prog)s %(version)s")
@click.pass_context
def tracemill(context: click.Context) -> None:
    """Derivatives, batching and compiled kernels for plain NumPy functions."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> NoReturn:
    """Run the command. Exits with 0 on success, 1 and a line with the reason on failure, and 2 for wrong usage.

    A closed standard output counts as ``/dev/null``. If its reader goes away, as in ``tracemill … | head``, the
    command ends silently with status 1. ``TRACEMILL_DEBUG=1`` shows tracebacks.
    """
    _open_missing_streams()
    _print_what_the_stream_can()
    _warn_in_one_line()
    if os.environ.get("TRACEMILL_DEBUG", "0") not in ("", "0"):
        sys.exit(tracemill.main(prog_name="tracemill", standalone_mode=False))
    try:
        status = tracemill.main(prog_name="tracemill", standalone_mode=False)
    except click.ClickException as error:
        status = _complain(error.format_message() + _help_for(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        status = _complain("interrupted", INTERRUPTED)
    except Exception as error:
        if _is_of_printing(error):
            status = _end_of_printing(error)
        else:
            from .terminal.complaints import reason_of

            status = _complain(reason_of(error), FAILED)
    try:
        sys.stdout.flush()
    except OSError as error:
        status = _end_of_printing(error)
    sys.exit(status)


def _help_for(error: click.ClickException) -> str:
    """Where the options are listed, for an error that is about one."""
    if not isinstance(error, (click.NoSuchOption, click.MissingParameter, click.BadOptionUsage)):
        return ""
    return f" Options: {error.ctx.command_path} --help" if error.ctx is not None else ""


def _complain(reason: str, status: int) -> int:
    """One line, whatever the reason contains."""
    line = " ".join(reason.split())
    with suppress(OSError):  # standard error is full, or has no reader
        click.echo(f"tracemill: {line}", err=True)
    return status


def _is_of_printing(error: Exception) -> TypeGuard[OSError]:
    """Whether standard output is full or closed; errors of files that the user named contain their names."""
    return isinstance(error, OSError) and error.errno in _PRINTING and error.filename is None


def _end_of_printing(error: OSError) -> int:
    """Print nothing more, even when Python exits. Returns the status; nothing is reported if the reader has gone
    away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return FAILED
    return _complain(f"cannot write to the standard output: {error.strerror}", FAILED)


def _open_missing_streams() -> None:
    """Redirect closed streams to nowhere, so that no file gets their numbers and is written to."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  it stays open until the process ends
            setattr(sys, name, stream)


def _warn_in_one_line() -> None:
    """Tracemill's warnings without its internal source line; others keep theirs."""
    show = warnings.showwarning

    def show_short(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        from .terminal.complaints import is_about_the_installation

        if is_about_the_installation(category):
            _complain(f"warning: {message}", 0)
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = show_short


def _print_what_the_stream_can() -> None:
    """A pipe with a small character set gets question marks instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
