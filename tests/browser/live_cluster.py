"""A live cluster in the database of a running instance."""

from tests.kubesched_ui.instance import Instance

CODE = """
from tests.kubesched_ui.live_clusters.factory import live_cluster
print(live_cluster(nodes=6, pending=60).pk)
"""


def live_cluster(site: Instance) -> int:
    """Return the number of a stored live cluster (live_clusters/factory.py). No process follows it."""
    made = site.command("shell", "-v", "0", "-c", CODE)
    assert made.returncode == 0, made.stderr
    return int(made.stdout.split()[-1])
