"""Bundles as bytes: their members, and the artifacts in them."""

import io
import zipfile

import tracemill as tm
from tracemill.runtime.artifact.loading import read_artifact


def members_of(content: bytes) -> dict[str, bytes]:
    """The name and content of each member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def artifact_of(content: bytes) -> tm.Artifact:
    """The artifact in the bytes of a file, checked. Raises `ArtifactError` like `tm.load`."""
    return read_artifact(io.BytesIO(content), f"{len(content)} bytes")
