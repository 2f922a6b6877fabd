"""Errors about exporting, loading, and the files that this reads and writes."""

from .tracemill_error import TracemillError


class ArtifactError(TracemillError, ValueError):
    """A file is not a valid artifact: it is damaged, from another program, or from a newer version of Tracemill.

    All of an artifact is checked before it is used, and nothing in it is executed.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> _ = Path("model.tmill").write_bytes(b"PK, but no more")
    >>> tm.load("model.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.ArtifactError: model.tmill: this is not a bundle: it does not end as a...

    Fix: get the file again from its source, or export the function again. The message names the damaged part, and
    ``tracemill verify model.tmill`` checks all parts.
    """

    code = "E0701"


class ArgumentSpecError(TracemillError, ValueError):
    """The description of an argument cannot be read, or does not fit the function.

    >>> import numpy as np, tracemill as tm
    >>> tm.export(np.sin, "f12[3]")
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.ArgumentSpecError: in 'f12[3]': there is no dtype 'f12', only bool, i8...

    Fix: describe each argument of the function as ``"f32[4, 784]"``, ``"x: f32[4, 784]"``, ``"n: int"`` or
    ``"axis = -1"``, or pass an array as an example.
    """

    code = "E0702"


class ArgumentMismatchError(TracemillError, TypeError, ValueError):
    """A function from an artifact is called with arguments that it was not exported for.

    The shapes and dtypes were fixed at export: there is no Python code that could be traced again.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.export(np.sin, "f32[3]").function()
    >>> f(np.zeros(4, np.float32))
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.ArgumentMismatchError: sin: x is f32[4], but it was exported for f32[3]...

    Fix: pass the arguments that ``print(f)`` shows, or export the function again for these. ``tm.vmap(f)`` takes a
    batch.
    """

    code = "E0703"


class InputFileError(TracemillError, OSError):
    """A file to be read is not a regular file, or is too large.

    Devices and pipes are not opened, because reading them may never end.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> tm.load("/dev/zero")
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.InputFileError: /dev/zero is a device, and only regular files are read:...

    Fix: save the contents of the pipe or device to a file first, and name that file.
    """

    code = "E0704"


class StepLimitError(TracemillError, RuntimeError):
    """A loop of a loaded function takes more steps than `load` allows with ``max_steps``.

    >>> import numpy as np, tracemill as tm
    >>> def forever(x):
    ...     return tm.while_loop(lambda x: x > 0, lambda x: x + 1, x)
    >>> path = tm.export(forever, "x: i64[]").save("forever.tmill")
    >>> tm.load(path, max_steps=1000)(np.int64(1))
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.StepLimitError: forever: a while loop exceeds max_steps=1000 steps...

    Fix: if the function needs more steps, allow them with ``tm.load(path, max_steps=10**6)``.
    """

    code = "E0705"


class ExportError(TracemillError, ValueError):
    """A program cannot be exported, or not in this format. The message names the part and says what to do instead.

    No format can hold a program that calls Python when it runs, or that updates an array that is not an argument.

    >>> import numpy as np
    >>> from tracemill.compiler.arguments.leaves import flatten_arguments
    >>> from tracemill.compiler.frontend.traced_program import trace
    >>> from tracemill.runtime.artifact.c_export import as_c
    >>> from tracemill.runtime.variants.signature import arguments_for, sign
    >>> signature = sign(*flatten_arguments((np.eye(3),), {}))
    >>> as_c(trace(np.linalg.eigvalsh, signature.tree, arguments_for(signature)))
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.ExportError: C cannot compute eigvalsh(f64[3, 3]): it needs LAPACK;...

    Fix: follow the message. A bundle can hold any other program, a Python file any that NumPy can compute, and C any
    that needs only loops.
    """

    code = "E0710"


class OutputFileError(TracemillError, OSError):
    """A path for output is a folder, a device, a pipe or a socket. These are never replaced.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> Path("models").mkdir()
    >>> tm.export(np.sin, "f32[3]").save("models")
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.OutputFileError: models is a folder, which is never replaced: name a file...

    Fix: name a file, such as ``models/sin.tmill``.
    """

    code = "E0711"


class OutputExistsError(OutputFileError, FileExistsError):
    """A file already exists and would be overwritten.

    >>> import numpy as np, tracemill as tm
    >>> artifact = tm.export(np.sin, "f32[3]")
    >>> path = artifact.save("sin.tmill")
    >>> artifact.save("sin.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.artifacts.OutputExistsError: sin.tmill exists: pass overwrite=True (on the...
    >>> path = artifact.save("sin.tmill", overwrite=True)

    Fix: pass ``overwrite=True``, or ``--force`` on the command line, to overwrite the file, or choose another name.
    """

    code = "E0712"
