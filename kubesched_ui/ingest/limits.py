"""Limits of uploads. Every limit is a setting (INGEST_MAX_BYTES, INGEST_MAX_NODES, ...)."""

from __future__ import annotations

from dataclasses import dataclass, fields

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one upload, all of its files together.

    Attributes:
        max_bytes: bytes of the uploaded files before unpacking.
        max_text: bytes of the texts that are read, unpacked.
        max_unpacked: bytes unpacked in total, including skipped files (logs).
        max_nodes, max_pods, max_objects: kept objects of kind Node, of kind Pod, of any kind.
        max_object_bytes: bytes of the JSON of one kept object; etcd accepts 1.5 MB.
        max_depth: levels of lists and maps within a document.
        max_nesting: levels of archives in archives, and of Lists in Lists.
        max_members: files in all archives together.
        max_ratio: maximum ratio of unpacked to packed bytes of an archive, checked above `ratio_from` bytes of text.
        max_alias_chars: characters and nodes that YAML aliases may add to a file.
        max_warnings: warnings that are kept; further ones are only counted.
    """

    max_bytes: int = 200 * MB
    max_text: int = 1024 * MB
    max_unpacked: int = 20 * 1024 * MB
    max_nodes: int = 10_000
    max_pods: int = 200_000
    max_objects: int = 500_000
    max_object_bytes: int = 3 * MB
    max_depth: int = 64
    max_nesting: int = 3
    max_members: int = 500_000
    max_ratio: int = 250
    ratio_from: int = 20 * MB
    max_alias_chars: int = 1_000_000
    max_warnings: int = 500

    @classmethod
    def from_settings(cls) -> Limits:
        """Return the defaults, overridden by Django settings named INGEST_ plus the upper-case field name."""
        from django.conf import settings

        given = {f.name: getattr(settings, f"INGEST_{f.name.upper()}", None) for f in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})
