"""How Python calls C functions: the wrappers in C, which need no Python headers, and the statements that load them.

A call costs as much as a call of Python's own builtins, because the wrappers are builtins: `ctypes` would take longer
than many kernels. They rely on Python's stable ABI and on the fields of an array that NumPy promises to keep. Both
are declared in the generated text, so the user's machine only needs a C compiler.
"""

import textwrap
from collections.abc import Mapping, Sequence

from ....ir import ArrayType
from ....loops.loop_costs import SHARED
from ....symbolic_size import SymbolicSize
from ...python.literals import dtype_text
from ...python.text import WIDTH, tuple_text, wrapped
from ..function import CFunction
from ..interruption import CALL, PYTHON
from ..sizes import size_parameters, size_text
from ..threads.pool_text import CALL as SHARE

RELEASING = 20_000
"""From this many nanoseconds of work on, other Python threads may run meanwhile."""

DECLARATIONS = """\
// ---- Calls from Python: the parts of its stable ABI and of NumPy's that are needed.

typedef struct tm_object tm_object;

typedef struct {
    const char *name;
    tm_object *(*call)(tm_object *, tm_object *const *, intptr_t);
    int flags;
    const char *doc;
} tm_method;

typedef struct {
    char *data;
    int ndim;
    intptr_t *shape, *strides;
    tm_object *base, *dtype;
    int flags;
} tm_array;  // an array's fields, behind those that every object has

extern tm_object *PyExc_TypeError;
tm_object *PyCFunction_NewEx(tm_method *, tm_object *, tm_object *);
tm_object *PyErr_Format(tm_object *, const char *, ...);
int PyErr_CheckSignals(void);
tm_object *PyObject_CallFunction(tm_object *, const char *, ...);
tm_object *PyTuple_New(intptr_t);
tm_object *PyTuple_GetItem(tm_object *, intptr_t);
int PyTuple_SetItem(tm_object *, intptr_t, tm_object *);
void Py_IncRef(tm_object *);
void Py_DecRef(tm_object *);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

typedef struct {
    int ndim;
    const intptr_t *shape;
    tm_object *dtype, *scalar;  // NumPy's dtype, and the type of its numbers: known once `link` was called
} tm_type;

typedef struct {
    const char *name;
    int inputs, count;
    const int *types;  // of the inputs, then of the outputs: places in tm_types
    int parallel, releasing;
    void (*run)(void **, long);$fields
} tm_function;

enum { TM_FASTCALL = 0x80, TM_IN_ORDER = 0x1, TM_ALIGNED = 0x100, TM_WRITEABLE = 0x400 };
"""

RUN = """\
static int tm_run(const tm_function *f, void **data, long threads) {
    void *state = f->releasing ? PyEval_SaveThread() : 0;
    f->run(data, threads);
    if (state) PyEval_RestoreThread(state);
    return 0;
}
"""

WRAPPER = """\
static long tm_header;  // the bytes of an object before its own fields; its type comes last
static const int *tm_threads;
static tm_object *tm_ndarray, *tm_none;

static inline tm_object *tm_type_of(tm_object *x) {
    return *(tm_object **)((char *)x + tm_header - sizeof(tm_object *));
}

static inline tm_array *tm_array_of(tm_object *x) { return (tm_array *)((char *)x + tm_header); }

static inline int tm_fits(const tm_array *x, const tm_type *type, $wanted_parameterint flags) {
    if (x->dtype != type->dtype || x->ndim != type->ndim || (x->flags & flags) != flags) return 0;
    for (int axis = 0; axis < type->ndim; axis++)
        if (x->shape[axis] != $wanted_shape[axis]) return 0;
    return 1;
}

// An operand that is contiguous, aligned, and of the right type: itself, or a copy.
static tm_object *tm_fitting(const tm_function *f, tm_object *self, tm_object *x, int place) {
    tm_object *found = PyObject_CallFunction(PyTuple_GetItem(self, 2), "Oi", x, f->types[place]);
    if (found && place >= f->inputs && (found != x || !(tm_array_of(x)->flags & TM_WRITEABLE))) {
        Py_DecRef(found);
        return PyErr_Format(PyExc_TypeError, "%s: argument %d cannot be written to", f->name, place);
    }
    return found;
}

// Once for all functions.
#if __has_attribute(noclone)
__attribute__((noclone))
#endif
__attribute__((noinline)) static tm_object *tm_call(
    const tm_function *f, tm_object *self, tm_object *const *args, intptr_t count) {
    void *data[TM_MOST$one_more];
    tm_object *kept[TM_MOST] = {0};
    int copies = 0, failed = 0;$begin
    if (count != f->count)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arrays, not %zd", f->name, f->count, count);
    for (int place = 0; place < f->count && !failed; place++) {
        const tm_type *type = &tm_types[f->types[place]];
        const int is_output = place >= f->inputs;
        const int flags = TM_IN_ORDER | TM_ALIGNED | (is_output ? TM_WRITEABLE : 0);
        tm_object *x = args[place];$next
        if (tm_type_of(x) == tm_ndarray && tm_fits(tm_array_of(x), type, $wanted_argumentflags)) {
            data[place] = tm_array_of(x)->data;
        } else if (!type->ndim && !is_output && tm_type_of(x) == type->scalar) {
            data[place] = (char *)x + tm_header;  // a number of NumPy's holds its value there
        } else {
            tm_object *found = tm_fitting(f, self, x, place);
            failed = !found;$check
            if (found) data[place] = tm_array_of(kept[copies++] = found)->data;
        }
    }
    if (!failed) failed = tm_run(f, data, f->parallel ? *tm_threads : 1);
    while (copies) Py_DecRef(kept[--copies]);
    if (failed) return 0;
    Py_IncRef(tm_none);
    return tm_none;
}
"""

EXPORT = """\
// `self` holds numpy.ndarray, None, the function that converts an operand, and the dtypes and NumPy's type numbers.
__attribute__((visibility("default")))
tm_object *tracemill_functions(
    tm_object *self, long header, const int *threads, void *share) {
    const int types = sizeof tm_types / sizeof *tm_types, functions = sizeof tm_methods / sizeof *tm_methods;
    tm_header = header;
    tm_threads = threads;
    $share;
    tm_ndarray = PyTuple_GetItem(self, 0);
    tm_none = PyTuple_GetItem(self, 1);
    for (int i = 0; i < types; i++) {
        tm_types[i].dtype = PyTuple_GetItem(PyTuple_GetItem(self, 3), i);
        tm_types[i].scalar = PyTuple_GetItem(PyTuple_GetItem(self, 4), i);
    }
    tm_object *found = PyTuple_New(functions);
    for (int i = 0; found && i < functions; i++)
        PyTuple_SetItem(found, i, PyCFunction_NewEx(&tm_methods[i], self, 0));
    return found;
}
"""


_WITHOUT_SIZES = {
    "$fields": "",
    "$wanted_parameter": "",
    "$wanted_shape": "type->shape",
    "$wanted_argument": "",
    "$one_more": "",
    "$begin": "",
    "$next": "",
    "$check": "",
}
_WITH_SIZES = {
    "$fields": """
    const long *sizes;  // of named sizes, which `run` finds behind the arrays
    const intptr_t *shapes;  // the lengths of all axes of all arrays; null if the types say these""",
    "$wanted_parameter": "const intptr_t *shape, ",
    "$wanted_shape": "shape",
    "$wanted_argument": "shape, ",
    "$one_more": " + 1",
    "$begin": """
    const intptr_t *shapes = f->shapes;
    data[f->count] = (void *)f->sizes;""",
    "$next": """
        const intptr_t *const shape = shapes ? shapes : type->shape;
        if (shapes) shapes += type->ndim;""",
    "$check": """
            if (found && !tm_fits(tm_array_of(found), type, shape, flags)) {
                Py_DecRef(found);
                PyErr_Format(PyExc_TypeError, "%s: argument %d has another shape", f->name, place);
                found = 0, failed = 1;
            }""",
}
"""Part of the text if functions take sizes, and if none does."""

READ_SIZES = """\
long PyLong_AsLong(tm_object *);
tm_object *PyErr_Occurred(void);

// The first arguments of a function, which are sizes.
static int tm_read_sizes(const char *name, tm_object *const *args, intptr_t given, int count, long *sizes) {
    for (int i = 0; i < count; i++) {
        sizes[i] = given < count ? -1 : PyLong_AsLong(args[i]);
        if (sizes[i] >= 0) continue;
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s takes %d sizes first", name, count);
        return 0;
    }
    return 1;
}
"""


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, filling in words.items():
        text = text.replace(word, filling)
    return text


def print_wrappers(functions: Sequence[CFunction], shared: int = SHARED) -> str:
    """The end of a C text: makes its `functions` callable from Python, and exports them.

    A wrapper takes the named sizes, and then the inputs and the outputs as arrays. Inputs may have any memory layout,
    and those without axes may be numbers. It returns None, and raises `TypeError` for wrong arguments. Functions with
    at least `shared` nanoseconds of work may use several threads.
    """
    types = {type: place for place, type in enumerate(types_of(functions))}
    most = max(len(f.inputs) + len(f.outputs) for f in functions)
    table = [_type_text(type) for type in types]
    methods = [f'{{"{f.name}", {f.name}_call, TM_FASTCALL,\n        {_doc(f)}}}' for f in functions]
    words = _WITH_SIZES if any(f.sizes for f in functions) else _WITHOUT_SIZES
    uses_threads = any(SHARE in f.text for f in functions)
    exported = {
        "$share": "if (share) *(void **)&tm_share = share" if uses_threads else "(void)share",
    }
    parts = [
        _filled(DECLARATIONS, words),
        f"enum {{ TM_MOST = {most} }};  // arrays of one call\n",
        _braced("static tm_type tm_types[] =", table),
        PYTHON if any(CALL in f.text for f in functions) else RUN,
        _filled(WRAPPER, words),
        *[READ_SIZES] * any(f.sizes for f in functions),
        *(_wrapper(function, types, shared) for function in functions),
        _braced("static tm_method tm_methods[] =", methods),
        _filled(EXPORT, exported),
    ]
    return "\n".join(parts)


def types_of(functions: Sequence[CFunction]) -> list[ArrayType]:
    """The distinct types that the functions take, in the order of their first use."""
    return list(dict.fromkeys(type for f in functions for type in (*f.inputs, *f.outputs)))


def _type_text(type: ArrayType) -> str:
    dims = ", ".join("-1" if isinstance(dim, SymbolicSize) else str(dim) for dim in type.shape)
    shape = f"(const intptr_t[]){{{dims}}}" if type.shape else "0"
    return f"{{{type.ndim}, {shape}, 0, 0}}"


def _doc(f: CFunction) -> str:
    """A function's docstring, as C strings on consecutive lines."""
    text = f"{f.name}({', '.join([*f.sizes, *map(str, (*f.inputs, *f.outputs))])})"
    return ' "\n        "'.join(textwrap.wrap(text, WIDTH - 12)).join('""')


def _braced(head: str, rows: Sequence[str]) -> str:
    return "\n".join([f"{head} {{", *(f"    {row}," for row in rows), "};\n"])


def _wrapper(f: CFunction, types: Mapping[ArrayType, int], shared: int) -> str:
    if f.sizes:
        return _wrapper_with_sizes(f, types, shared)
    arrays = (*f.inputs, *f.outputs)
    places = ", ".join(str(types[type]) for type in arrays)
    data = ", ".join([*(f"data[{place}]" for place in range(len(arrays))), "threads"])
    flags = f"{int(f.work >= shared)}, {int(f.work >= RELEASING)}"
    sizes = f"{len(f.inputs)}, {len(arrays)}"
    return f"""\
static void {f.name}_run(void **data, long threads)
{{
    {f.name}({data});
}}

static tm_object *{f.name}_call(tm_object *self, tm_object *const *args, intptr_t count) {{
    static const int types[] = {{{places}}};
    static const tm_function f = {{"{f.name}", {sizes}, types, {flags}, {f.name}_run}};
    return tm_call(&f, self, args, count);
}}
"""


def _wrapper_with_sizes(f: CFunction, types: Mapping[ArrayType, int], shared: int) -> str:
    arrays, count = (*f.inputs, *f.outputs), len(f.sizes)
    places = ", ".join(str(types[type]) for type in arrays)
    given = [*(f"sizes[{i}]" for i in range(count)), *(f"data[{place}]" for place in range(len(arrays)))]
    lengths = ", ".join(size_text(size) for type in arrays for size in type.shape) or "0"
    named = "\n".join(f"    {one} = sizes[{i}];" for i, one in enumerate(size_parameters(f.sizes)))
    return f"""\
static void {f.name}_run(void **data, long threads)
{{
    const long *const sizes = data[{len(arrays)}];
    {f.name}({", ".join([*given, "threads"])});
}}

static tm_object *{f.name}_call(tm_object *self, tm_object *const *args, intptr_t count) {{
    static const int types[] = {{{places}}};
    long sizes[{count}];
    if (!tm_read_sizes("{f.name}", args, count, {count}, sizes)) return 0;
{named}
    const intptr_t shapes[] = {{{lengths}}};
    const long work = {size_text(f.work)};
    const tm_function f = {{"{f.name}", {len(f.inputs)}, {len(arrays)}, types, work >= {shared},
        work >= {RELEASING}, {f.name}_run, sizes, shapes}};
    return tm_call(&f, self, args + {count}, count - {count});
}}
"""


# ---- the module's side -----------------------------------------------------------------------------

FITTING = '''\
def fitting(value, number):
    """An operand of a C function: of the type TYPES[number], its elements in order and aligned."""
    shape, dtype = TYPES[number]
    array = np.require(value, dtype if type(value) in (bool, int, float, complex) else None, "CA")
    if array.shape != shape or array.dtype != dtype:
        wanted = f"{np.dtype(dtype)} of shape {shape}"
        raise TypeError(f"a C function needs {wanted}, not {array.dtype} of shape {array.shape}")
    return array
'''

FITTING_ANY_SIZE = FITTING.replace(
    "if array.shape != shape or array.dtype != dtype:",
    "fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape))\n"
    "    if not fits or array.dtype != dtype:",
)
"""The same with None for axis lengths that depend on named sizes: the C function knows them."""

LINK = '''\
def link(library, threads, share=None, owner=None):
    """Take the C functions from a shared library. It reads the number of threads at this address, and calls `share`
    to use threads.

    The functions keep `owner` alive, so that it can unload the library after them.
    """
    make = library.tracemill_functions
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.py_object, ctypes.c_long, *[ctypes.c_void_p] * 2]
    dtypes = tuple(np.dtype(dtype) for _, dtype in TYPES)
    numbers = tuple(dtype.type for dtype in dtypes)
    held = (np.ndarray, None, fitting, dtypes, numbers, owner)
    made = make(held, object.__basicsize__, threads, share)
    globals().update({function.__name__: function for function in made})
'''

LIBRARY = '''\
def library():
    """The shared library beside this file, or one made of the C file there; elsewhere if that folder is read-only."""
    text = pathlib.Path(__file__).with_suffix(".c")
    path = text.with_suffix(".so")
    if path.exists() and path.stat().st_mtime >= text.stat().st_mtime:
        return str(path)
    if not os.access(text.parent, os.W_OK):
        path = pathlib.Path(tempfile.mkdtemp(), path.name)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    subprocess.run([*compiler, *FLAGS, "-o", path, text, "-lm"], check=True)
    return str(path)
'''

LINK_AT_RUN = """\
    thread_count = ctypes.c_int(1)  # the pool of threads comes with Tracemill
    link(ctypes.PyDLL(library()), ctypes.addressof(thread_count))
"""


def link_statements(functions: Sequence[CFunction]) -> list[list[str]]:
    """The functions with which a module gets its C functions from a shared library."""
    types = [f"({_known_shape(type)}, {dtype_text(type.dtype)})" for type in types_of(functions)]
    fitting = FITTING_ANY_SIZE if any(f.sizes for f in functions) else FITTING
    return [wrapped("TYPES = [", types, "]", indent=0), *_lines(fitting, LINK)]


def _known_shape(type: ArrayType) -> str:
    """The shape as Python, with None for lengths that depend on named sizes."""
    return tuple_text([None if isinstance(dim, SymbolicSize) else dim for dim in type.shape])


def library_statements(flags: Sequence[str]) -> list[list[str]]:
    """The function with which a module, when it is run, finds its shared library, or builds it with these flags."""
    return [wrapped("FLAGS = [", [f'"{flag}"' for flag in flags], "]", indent=0), *_lines(LIBRARY)]


def _lines(*texts: str) -> list[list[str]]:
    return [[str(line) for line in text.splitlines()] for text in texts]
