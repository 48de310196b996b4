"""Which patch version of a release its behaviour is held to: the one that made the conformance cases."""

_HELD_TO = (
    *("1.16.6", "1.20.15", "1.22.6", "1.23.5", "1.24.4", "1.25.2", "1.26.4", "1.27.1", "1.28.3", "1.29.1", "1.30.1"),
    *("1.31.1", "1.32.2", "1.33.0", "1.34.1", "1.35.3", "1.36.2"),
)
HELD_TO: dict[str, str] = {version.rpartition(".")[0]: version for version in _HELD_TO}


def held_to(release: str) -> str:
    """The patch version, "" for a release without cases of its own: it follows upstream's sources and change logs."""
    return HELD_TO.get(release, "")
