"""``python -m tracemill``: the command, by the interpreter whose packages it is to use."""

from .tools.cli import main

if __name__ == "__main__":
    main()
