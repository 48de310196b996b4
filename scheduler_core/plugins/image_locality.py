"""ImageLocality: gives higher scores to nodes that already have the pod's images.

Upstream: pkg/scheduler/framework/plugins/imagelocality.
"""

from collections.abc import Sized
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import amount
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework import signers
from scheduler_core.provenance.context import BYTES, View
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    divide,
    divide_int,
    highest,
    lowest,
    multiply,
    over,
    subtract,
    total,
    truncated,
)

_ROW_OF = attrgetter("row")
_MB = 1024 * 1024
MIN_THRESHOLD = 23 * _MB  # smaller sums score 0
MAX_CONTAINER_THRESHOLD = 1000 * _MB  # per container or per pod; larger sums score no higher


def normalized_image_name(name: str) -> str:
    """Return the name with the tag `latest` if it has no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class ImageLocality(fwk.ScorePlugin):
    name = "ImageLocality"
    best = "the one with most of the pod's images"
    pod_fields = ("image",)
    reads = "images"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Integers:
        """Return 100 x (sum - 23 MB) / (1000 MB x containers - 23 MB), where sum adds size x share of nodes with the
        image. Older releases have one threshold for all containers."""
        images, volumes = tuple(self._images(pod)), tuple(self._volumes(pod))
        key = (self.name, images, volumes, self.cluster.nodes.version)
        containers = self._counted(images, volumes)
        return self.cluster.nodes.memo(key, lambda: self._scores((*images, *volumes), containers))[rows]

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS  # `NodeTable.version` changes with the number of nodes with an image

    def _counted(self, images: Sized, volumes: Sized) -> int:
        """Return how often the upper threshold counts: once for each container, or once."""
        release = self.cluster.release
        more = len(volumes) if release.image_threshold_counts_volumes else 0
        return len(images) + more if release.image_threshold_per_container else 1

    def _images(self, pod: PodInfo) -> list[str]:
        """Return the images of containers."""
        spec = pod.pod.spec
        inits = spec.init_containers if self.cluster.release.init_container_images else []
        return [c.image for c in (*inits, *spec.containers)]

    def _volumes(self, pod: PodInfo) -> list[str]:
        """Return the images that are volumes. They add to the sum; from 1.37 on they raise its threshold."""
        if not self.cluster.release.image_volumes:
            return []
        return [volume.image.reference for volume in pod.pod.spec.volumes if volume.image is not None]

    def _scores(self, images: tuple[str, ...], containers: int) -> npt.NDArray[np.uint8]:
        """Return the scores of all nodes. Those that have none of the images score 0."""
        nodes = self.cluster.nodes
        scores, largest = np.zeros(len(nodes), np.uint8), MAX_CONTAINER_THRESHOLD * containers
        found: list[tuple[Any, Any]] = []  # the rows with an image, and what it adds to their sums
        for image in map(normalized_image_name, images):
            size, holders = nodes.images.get(image, (0, {}))
            if not holders:
                continue
            if nodes.image_counts_are_current():
                share = np.float64(float(size) * (len(holders) / len(nodes)))
                points: Any = min(int(share.astype(np.int64)), largest)
            else:
                counts = np.array([entry.image_spread[image] for entry in holders.values()])
                points = np.minimum((float(size) * (counts / len(nodes))).astype(np.int64), largest)
            found.append(([*map(_ROW_OF, holders.values())], points))
        if len(found) > 1:
            total = np.zeros(len(nodes), np.int64)
            for rows, points in found:
                total[rows] += points
            rows = total.nonzero()[0]
            found = [(rows, total[rows])]
        for rows, held in found:
            least, most = MIN_THRESHOLD, max(largest, MIN_THRESHOLD)
            one = isinstance(held, int)  # with numpy, a number takes longer
            held = min(max(held, least), most) if one else np.minimum(np.maximum(held, least), most)  # `clip` is slow
            scores[rows] = self.max_score * (held - least) // max(largest - least, 1)
        return scores

    def sign(self, pod: PodInfo) -> signers.Fragments:
        spec = pod.pod.spec
        return {"images": sorted(normalized_image_name(c.image) for c in (*spec.containers, *spec.init_containers))}

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        own, more = self._images(view.pod), self._volumes(view.pod)
        images = [*own, *more]
        least, per_container = (
            constant(MIN_THRESHOLD, "minThreshold", BYTES),
            constant(MAX_CONTAINER_THRESHOLD, "maxContainerThreshold", BYTES),
        )
        containers = constant(self._counted(own, more), "images that raise the threshold")
        most = multiply(per_container, containers, "upper threshold", BYTES)
        held = total(
            [self._share(view, image, most) for image in images],
            "sizes, each by the share of nodes that have it",
            BYTES,
        )
        within = lowest([highest([held, least]), highest([most, least])], "kept between the thresholds", BYTES)
        span = highest([subtract(most, least), constant(1, "not to divide by zero")])
        tree = divide_int(multiply(max_node_score(self.max_score), subtract(within, least)), span)
        here = sum(part.value > 0 for part in held.args or ())
        return tree.with_text(
            f"{tree.value} = {here} of {len(images)} images are on {view.node.name}; "
            f"by the share of nodes that have them they count {amount('memory', held.value)}"
        )

    def _share(self, view: View, image: str, most: Tree) -> Tree:
        """Explain how much an image adds to the sum on the node."""
        name = normalized_image_name(image)
        size, holders = self.cluster.nodes.images.get(name, (0, {}))
        if view.node.name not in holders:
            return constant(0, f"image {image} is not on the node", BYTES)
        having, nodes = self.cluster.nodes.entries[view.node.name].image_spread[name], len(self.cluster.nodes)
        spread = divide(over("count", having, nodes, "nodes that have the image"), over("count", nodes, nodes, "nodes"))
        scaled = truncated(multiply(self._size(view, name, size), spread), f"image {image}")
        return scaled if scaled.value <= most.value else lowest([scaled, most], f"image {image}, at most", BYTES)

    def _size(self, view: View, name: str, size: int) -> Tree:
        """Return the field with the size that is used: that of the first node that reported the image."""
        for node in (view.node, *self.cluster.nodes.nodes):
            for i, image in enumerate(node.status.images):
                if name in image.names and image.size_bytes == size:
                    leaf = view.field(node, "status", "images", i, "sizeBytes", missing=0, label=f"size of {name}")
                    leaf.unit = BYTES
                    return leaf
        return constant(size, f"size of {name}, as reported by the first node that had it", BYTES)
