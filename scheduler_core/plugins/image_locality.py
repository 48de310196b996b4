"""ImageLocality: nodes that already hold the pod's images score higher.

Upstream: pkg/scheduler/framework/plugins/imagelocality.
"""

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import MAX_NODE_SCORE, CycleState, Int64, Rows, ScorePlugin

_MB = 1024 * 1024
MIN_THRESHOLD = 23 * _MB  # smaller images do not matter
MAX_CONTAINER_THRESHOLD = 1000 * _MB  # per container; beyond it more does not matter


def normalized_image_name(name: str) -> str:
    """Adds the tag `latest` to a name without one."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class ImageLocality(ScorePlugin):
    name = "ImageLocality"

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """100 x (sum - 23 MB) / (1000 MB x containers - 23 MB), sum over images of size x share of nodes with it."""
        spec = pod.pod.spec
        containers = spec.containers
        if self.cluster.release.init_container_images:
            containers = [*spec.init_containers, *spec.containers]
        images = tuple([c.image for c in containers])
        return self.cluster.nodes.memo((self.name, images), lambda: self._scores(images))[rows]

    def _scores(self, images: tuple[str, ...]) -> Int64:
        nodes = self.cluster.nodes
        total = np.zeros(len(nodes), np.int64)
        at_arrival = self.cluster.release.image_spread_at_arrival
        largest = MAX_CONTAINER_THRESHOLD * len(images)
        for image in map(normalized_image_name, images):
            size, holders = nodes.images.get(image, (0, ()))
            for holder in holders:
                spread = nodes.entries[holder].image_spread[image] if at_arrival else len(holders)
                total[nodes.rows[holder]] += min(int(float(size) * (spread / len(nodes))), largest)
        np.clip(total, MIN_THRESHOLD, max(largest, MIN_THRESHOLD), out=total)
        return MAX_NODE_SCORE * (total - MIN_THRESHOLD) // max(largest - MIN_THRESHOLD, 1)
