"""The Makefile of an exported program: a static and a shared library, with the flags of the C backend."""

from collections.abc import Sequence
from string import Template
from typing import Final

from ..flags import FAST, FLAGS, LONG, QUICK

_MAKEFILE: Final = Template("""\
# $name: lib$name.a and lib$name.so. Made by $producer.
#
#   make                both, for this machine
#   make ARCH=          for any processor of this kind
#   make CC=clang       with another compiler
#
# Link with -lm -lpthread.

ARCH := -march=native
CFLAGS := $level

# What the values rely on: NumPy's, NaN, infinity and the sign of zero included.
REQUIRED := $required

# What this compiler can do.
MACROS := $$(CC) $$(ARCH) -dM -E -x c /dev/null 2> /dev/null
WIDE := $$(shell $$(MACROS) | grep -q __AVX512F__ && echo -mprefer-vector-width=512)
VECTORS := $$(shell $$(CC) --version | grep -q clang && echo -fveclib=libmvec)

SOURCES := $sources
OBJECTS := $$(SOURCES:.c=.o)
FLAGS := $$(CFLAGS) $$(REQUIRED) $$(ARCH) $$(WIDE) $$(VECTORS) -fopenmp-simd -pthread

all: lib$name.a lib$name.so

lib$name.a: $$(OBJECTS)
	$$(AR) rcs $$@ $$^

lib$name.so: $$(OBJECTS)
	$$(CC) -pthread -shared -o $$@ $$^ $$(LDFLAGS) -lm

%.o: %.c $name.h
	$$(CC) $$(FLAGS) -fPIC -c -o $$@ $$<

clean:
	$$(RM) lib$name.a lib$name.so $$(OBJECTS)

.PHONY: all clean
""")


def makefile_text(name: str, sources: Sequence[str], size: int, producer: str, *, fast_math: bool) -> str:
    """The text of the Makefile; `size` is the number of characters of the functions."""
    left_out = ("-O3", "-std=gnu11", "-fPIC", "-shared")
    required = [flag for flag in FLAGS if flag not in left_out]
    return _MAKEFILE.substitute(
        name=name,
        producer=producer,
        level=" ".join(QUICK) if size >= LONG else "-O3",
        required=" ".join(["-std=c11", *required, *(FAST if fast_math else ())]),
        sources=" ".join(sources),
    )
