"""Writes bundles: the same artifact gives the same bytes."""

import json

from ...compiler.errors import ExportError
from ...compiler.ir import ArrayType
from ...compiler.text.printer import graph_constants, to_text
from ..files.digests import file_of
from .archive import LARGEST_TOTAL, archive_bytes
from .array_file import array_file
from .contents import Contents
from .manifest import FORMAT, GRAPH, MANIFEST, manifest_of
from .targets import member_of


def bundle_bytes(artifact: Contents) -> bytes:
    """The zip file of an artifact. Raises `ExportError` if it would be too large to read."""
    graph = artifact.program.graph
    members = {GRAPH: to_text(graph).encode()}
    constants: dict[str, tuple[str, ArrayType]] = {}
    for number, (digest, array) in enumerate(graph_constants(graph).items()):
        name = f"consts/{number}.npy"
        constants[digest] = name, ArrayType(array.dtype, array.shape)
        members[name] = array_file(array)
    known = {file_of(digest) for digest in constants}
    for target, files in artifact.code.items():
        members |= {
            member_of(target, name, FORMAT): content for name, content in files.items() if name not in known
        }
    if (size := sum(map(len, members.values()))) > LARGEST_TOTAL:
        raise ExportError(
            f"{artifact.interface.name} cannot be saved: its arrays and code have {size} bytes, and a bundle holds"
            f" {LARGEST_TOTAL}. Pass large arrays as arguments instead of closing over them"
        )
    manifest = json.dumps(manifest_of(artifact, constants, members), indent=1) + "\n"
    return archive_bytes({MANIFEST: manifest.encode(), **members})
