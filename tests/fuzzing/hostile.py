"""A bundle in which every text tries to be code, and a program that loads and runs it and reports what Python
executed.

``python -m fuzzing.hostile FOLDER``: the folder gets the function in other formats.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

import numpy as np

import tracemill as tm
from support.bundles import artifact_of, members_of
from tracemill.runtime.bundle.archive import archive_bytes
from tracemill.runtime.bundle.manifest import GRAPH, MANIFEST, manifest_id
from tracemill.runtime.bundle.writing import bundle_bytes
from tracemill.runtime.files.digests import digest_of

from .confinement import watched

MARK: Final = "pwned_by_a_file"
EVIL: Final = f"__import__('os').system('touch {MARK}'); {MARK}()"
TEXTS: Final = (
    EVIL,
    f"\n{EVIL}\n",
    f"*/ {EVIL} /*",
    f'""" {EVIL} """',
    f"''' {EVIL} '''",
    f'"); {EVIL}; ("',
    f"\\\"); {EVIL}; (\\'",
    f"\u202e{EVIL}\u2066",
    f"\0{EVIL}",
    f"\r{EVIL}\u2028{EVIL}\x0b{EVIL}\x85{EVIL}",
    f"{EVIL}\\",
    f"??/\n{EVIL}??/",
    f"#{EVIL}",
    f"\nint main(void) {{ return system('{MARK}'); }}\n#define return {MARK}",
)
NAMES: Final = (
    "np",
    "print",
    "__import__",
    "exec",
    "ｎｐ",
    "quiet",
    "len",
    "memcpy",
    "restrict",
    "main",
    MARK,
)


_OUTSIDE: Final = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.")


def example(x: Any, others: Any, mode: str) -> Any:
    y = np.sin(x)
    return {"a": y + others["k"], "b": y * 2, "c": mode}


def hostile(text: str, names: Sequence[str], *, prints: bool) -> bytes:
    """A bundle with this string in place of every string, and with three names in place of every name."""
    members = dict(members_of(bundle_bytes(tm.export(example, "f64[3]", {"k": "f64[3]"}, "mode = 'up'"))))
    shown = json.dumps(text)
    field = json.dumps(text.replace("{", "{{").replace("}", "}}") + "{0}")
    line = "".join(char for char in text if char.isprintable())[:120]
    first, second, third = names
    members[GRAPH] = f"""# tracemill ir 1
def {first}({first}: f64[3], {second}: f64[3]) -> (f64[3], f64[3]):
    def {third}({second}: f64[3]) -> f64[3]:
        {first}: f64[3] = sin({second})  # {line}.py:3  {line}
        return {first}
    y: f64[3] = call({first}, graph={third})  # {line}.py:7  {line}
    {third}: f64[3] = checkpoint_name(y, name={shown})  # a.py:8  {line}
{f"    debug_print(y, text={field})" if prints else ""}
    a: f64[3] = add({third}, {second})
    b: f64[3] = multiply({third}, f64(2.0))
    return a, b""".encode()
    members["src/evil.py"] = text.encode()
    manifest = json.loads(members[MANIFEST].decode().replace('"up"', shown).replace('"k"', shown))
    places = [normalize("NFKC", name) for name in (third, second, first)]
    manifest["function"]["name"], manifest["function"]["doc"] = places[-1], text
    for parameter, name in zip(manifest["function"]["parameters"], places, strict=True):
        parameter["name"] = name
    manifest["producer"] = {text: text}
    manifest[text] = text
    for name, content in members.items():
        if name != MANIFEST:
            manifest["members"][name] = {"bytes": len(content), "sha256": digest_of(content)}
    manifest["id"] = manifest_id(manifest)
    return archive_bytes(members | {MANIFEST: json.dumps(manifest).encode()})


def main(folder: Path) -> dict[str, list[str]]:
    """The events of executing, compiling and importing while hostile functions ran, by kind."""
    found: dict[str, list[str]] = {"compile": [], "exec": [], "import": [], "else": []}
    cases: list[tuple[str, Sequence[str]]] = [(text, NAMES[:3]) for text in TEXTS]
    cases += [(EVIL, [*NAMES[number:], *NAMES[:2]][:3]) for number in range(len(NAMES))]
    contents = [
        [hostile(text, names, prints=True), hostile(text, names, prints=False)] for text, names in cases
    ]
    artifact_of(contents[0][0])
    with watched():
        artifacts = [list(map(artifact_of, pair)) for pair in contents]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "compile":
            found["compile"].append(args[0].decode() if isinstance(args[0], bytes) else str(args[0]))
        elif event == "exec":
            found["exec"].append(args[0].co_filename)
        elif event == "import":
            found["import"].append(args[0])
        elif event.startswith(_OUTSIDE):
            found["else"].append(f"{event} {args!r}")

    sys.addaudithook(hook)
    x, k = np.arange(3.0), np.ones(3)
    for number, ((text, _), (printing, silent)) in enumerate(zip(cases, artifacts, strict=True)):
        result = printing.function(backend="numpy")(x, {text: k}, text)
        np.testing.assert_array_equal(result["a"], np.sin(x) + k)
        np.testing.assert_array_equal(result["b"], np.sin(x) * 2)
        assert result["c"] == text
        printing.save(folder / f"{number}.py", "python")
        silent.save(folder / f"{number}", "c")
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(main(Path(sys.argv[1]))))
