"""How much an upload may hold. Every figure is a setting (INGEST_MAX_BYTES, INGEST_MAX_NODES, ...)."""

from __future__ import annotations

from dataclasses import dataclass, fields

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one upload, all of its files together.

    Attributes:
        max_bytes: bytes of the uploaded files as they come.
        max_text: bytes of the texts that are read, unpacked.
        max_unpacked: bytes unpacked altogether, also of what is passed over (logs).
        max_nodes, max_pods, max_objects: objects kept of kind Node, Pod, any.
        max_object_bytes: bytes of JSON of a single object that is kept; etcd takes 1.5 MB.
        max_depth: levels of lists and maps within a document.
        max_nesting: archives in archives, and Lists in Lists.
        max_members: files in all archives together.
        max_ratio: bytes of an archive's texts to its packed bytes, once they are more than `ratio_from`.
        max_alias_chars: characters and nodes that YAML aliases may add to a file.
        max_warnings: remarks kept; further ones are only counted.
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
        """The defaults, changed by Django settings named INGEST_ and the field's name in capitals."""
        from django.conf import settings

        given = {f.name: getattr(settings, f"INGEST_{f.name.upper()}", None) for f in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})
