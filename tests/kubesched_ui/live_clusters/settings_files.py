"""Files that name live clusters for a server in processes of its own."""

import json
from collections.abc import Mapping
from pathlib import Path


def clusters_file(folder: Path, followed: Mapping[str, str], on_demand: Mapping[str, str] | None = None) -> Path:
    """Write a clusters file with a kubeconfig, and return its path. `followed`, `on_demand`: name -> address of the API
    server, of clusters that are followed always, and while a page of them is open."""
    addresses = {**followed, **(on_demand or {})}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": name, "context": {"cluster": name, "user": "user"}} for name in addresses],
        "clusters": [{"name": name, "cluster": {"server": url}} for name, url in addresses.items()],
        "users": [{"name": "user", "user": {}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
    file = folder / "clusters.yaml"
    common = {"kubeconfig": str(folder / "kubeconfig")}
    clusters = [
        {"name": name, "follow": "always" if name in followed else "when-viewed", **common} for name in addresses
    ]
    file.write_text(json.dumps({"clusters": clusters}))
    return file
