"""Kubernetes 1.36 with the default feature gates."""

from scheduler_core.releases import v1_35
from scheduler_core.releases.release import Release

RELEASE = Release(
    name="1.36",
    api_versions=("v1",),
    default_plugins=(
        *v1_35.RELEASE.default_plugins,
        # its feature gate appends it
        ("NodeDeclaredFeatures", 0),
    ),
    removed_plugins=v1_35.RELEASE.removed_plugins,
)
