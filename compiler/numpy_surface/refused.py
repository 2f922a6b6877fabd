"""NumPy functions that have no meaning for a traced array, each with its reason.

A compiled function that calls one of `registry.LEAVING` runs uncompiled.
"""

from ..tracing.registry import REFUSED

TEXT = "text, printing and files are made of values, which are not known while tracing: return the array and print it"
FILES = "files are read and written outside of the trace: pass the array in, or return it"
DATES = "dates and times are not dtypes of Tracemill"
MEMORY = "a traced array has no memory of its own: it is recorded, not stored"
OBJECTS = "arrays of Python objects and records are not dtypes of Tracemill"

_NAMES = {
    TEXT: """array2string array_repr array_str fromstring
        isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle isupper
        count endswith find index rfind rindex startswith str_len""",
    FILES: "fromfile genfromtxt loadtxt save savetxt savez savez_compressed",
    DATES: "busday_count busday_offset datetime_as_string is_busday isnat",
    MEMORY: "may_share_memory shares_memory frombuffer",
    OBJECTS: """fromiter
        append_fields apply_along_fields assign_fields_by_name drop_fields find_duplicates join_by merge_arrays
        rec_append_fields rec_drop_fields rec_join recursive_fill_fields rename_fields repack_fields require_fields
        stack_arrays structured_to_unstructured unstructured_to_structured""",
}

for _reason, _names in _NAMES.items():
    REFUSED.update(dict.fromkeys(_names.split(), _reason))
