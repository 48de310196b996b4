"""Files that name a live cluster for a server in processes of its own."""

import json
from pathlib import Path


def clusters_file(folder: Path, url: str) -> Path:
    """Write a clusters file with a kubeconfig of this server, and return its path."""
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": "live", "context": {"cluster": "live", "user": "live"}}],
        "clusters": [{"name": "live", "cluster": {"server": url}}],
        "users": [{"name": "live", "user": {}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
    file = folder / "clusters.yaml"
    cluster = {"name": "live", "kubeconfig": str(folder / "kubeconfig"), "follow": "always"}
    file.write_text(json.dumps({"clusters": [cluster]}))
    return file
