"""Digests of what is stored: SHA-256, in hexadecimal digits."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def document_digest(document: Mapping[str, Any]) -> str:
    """The digest of a JSON document, whatever the order of its keys and the spaces in its file."""
    return digest_of(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def file_of(digest: str) -> str:
    """The file of the array with a digest, ``sha256:…``: file names on Windows have no colon."""
    return f"{digest.rpartition(':')[2]}.bin"
