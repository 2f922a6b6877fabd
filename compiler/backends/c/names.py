"""Names with a meaning in C, which no variable of a generated function may have."""

import re
from typing import Final

_KEYWORDS: Final = frozenset(
    "alignas alignof asm auto bool break case char complex const constexpr continue default do double else enum "
    "extern false float for goto i386 if imaginary inline int linux long nullptr register restrict return short "
    "signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union unix "
    "unsigned void volatile while".split()
)
"""Keywords of C and its dialects, and lowercase names that compilers define."""

_FUNCTIONS: Final = frozenset(
    "abs acos acosh arg asin asinh atan atan2 atanh cbrt ceil conj copysign cos cosh erf erfc exp exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod fpclassify free frexp hypot ilogb imag isfinite isinf isnan isnormal ldexp lgamma llrint "
    "llround log log10 log1p log2 logb lrint lround main malloc memcmp memcpy memmove memset modf nan nearbyint "
    "nextafter pow proj real remainder rint round scalbn signbit sin sinh sqrt tan tanh tgamma trunc".split()
)
"""Names of its library, without the letter before or after that selects the type."""

_LINKED: Final = frozenset(
    "abort accept access alarm aligned_alloc asctime atexit atof atoi atol atoll bind brk bsearch calloc chdir chmod "
    "clock close connect creat ctime daemon difftime div dup environ errno exec exit fclose feof ferror fflush fgetc "
    "fgets fileno fopen fork fprintf fputc fputs fread fscanf fseek ftell fwrite getc getchar getenv getpid gmtime "
    "index ioctl isalnum isalpha isdigit isspace kill labs ldiv link listen localtime lseek mktime mmap munmap nice "
    "open pause perror pipe printf putc putchar puts qsort raise rand random read realloc recv remove rename "
    "rewind rindex scanf select send setjmp shutdown sigaction signal sleep snprintf socket sprintf srand sscanf stat "
    "stderr stdin stdout strcat strchr strcmp strcpy strlen strtod strtol strtok sync syscall system time times "
    "tmpfile tolower toupper truncate ungetc unlink usleep wait write".split()
)
"""Symbols of the C and Unix libraries, which a linked function would replace."""

_PATTERN: Final = re.compile(r"I|[A-Z][A-Z0-9_]+|_[A-Z_]\w*|tm_\w+|\w+_t")
"""Macros, names reserved for compilers, Tracemill's functions, and types."""


def variable_name(name: str) -> str:
    """A name for a variable, with an underscore if it would be hidden or replaced: ``cos_``, ``NAN_``."""
    return f"{name}_" if _is_word(name) else name


def function_name(name: str) -> str:
    """A name for a function with external linkage: it must not replace another one, as ``write`` would."""
    return f"{name}_" if name in _LINKED else variable_name(name)


def _is_word(name: str) -> bool:
    if name in _KEYWORDS or name in _FUNCTIONS or _PATTERN.fullmatch(name):
        return True
    unmarked = name.removesuffix("f")
    return unmarked in _FUNCTIONS or unmarked.removeprefix("c") in _FUNCTIONS
