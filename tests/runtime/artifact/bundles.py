"""Bundles for tests to damage: their members are taken out, changed, and put back with digests that fit."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tracemill as tm
from support.bundles import members_of
from tracemill.runtime.bundle.manifest import MANIFEST, manifest_id
from tracemill.runtime.bundle.writing import bundle_bytes
from tracemill.runtime.files.digests import digest_of

TABLE = np.sin(np.arange(24.0)).reshape(12, 2)


def scale(w: Any, x: Any, factor: float, *, mode: str) -> Any:
    """Scales, and counts."""
    w += 1
    return {"y": x @ TABLE * w, "n": (factor * 2, x.shape[0]), "mode": mode}


def artifact() -> tm.Artifact:
    return tm.export(scale, "w: f64[2]", "x: f64[4, 12]", "factor: float", "mode = 'up'")


def bundle() -> bytes:
    return bundle_bytes(artifact())


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_manifest(members: Mapping[str, bytes], change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A bundle with a changed manifest, and matching sizes, digests and id."""
    manifest = json.loads(members[MANIFEST])
    others = {name: content for name, content in members.items() if name != MANIFEST}
    for name, content in others.items():
        manifest["members"][name] = {"bytes": len(content), "sha256": digest_of(content)}
    change(manifest)
    manifest["id"] = manifest_id(manifest)
    return zipped({MANIFEST: json.dumps(manifest).encode(), **others})


def with_graph(change: Callable[[str], str]) -> bytes:
    """A bundle with another graph text."""
    members = members_of(bundle())
    members["graph.txt"] = change(members["graph.txt"].decode()).encode("utf-8", "surrogatepass")
    return with_manifest(members, lambda manifest: None)
