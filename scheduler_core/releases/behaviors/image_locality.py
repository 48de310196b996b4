"""ImageLocality."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import off, on


@dataclass(frozen=True, kw_only=True)
class ImageLocalityBehaviors:
    image_threshold_per_container: bool = on(
        "the upper threshold of ImageLocality is 1000 MB for each container",
        "the upper threshold of ImageLocality is 1000 MB for the whole pod",
        "pods of several containers with large images can go to other nodes",
        since="1.19",
        pull=91138,
    )
    init_container_images: bool = on(
        "ImageLocality counts images of init containers",
        "ImageLocality ignores init containers",
        "nodes that have the images of init containers score higher",
        since="1.30",
        pull=123366,
    )
    image_volumes: bool = on(
        "ImageLocality counts image volumes",
        "ImageLocality ignores image volumes",
        "nodes that have the images of image volumes score higher",
        since="1.36",
        kep=4639,
    )
    image_threshold_counts_volumes: bool = on(
        "image volumes raise ImageLocality's upper threshold as containers do",
        "image volumes do not raise ImageLocality's upper threshold",
        "image volumes no longer let nodes with some of the images score as if they had all",
        since="1.37",
        pull=138951,
    )
    image_node_count_fixed_at_add: bool = off(
        "the number of nodes with an image is computed once, when a node is added",
        "the number of nodes with an image is computed again when the node or its pods change",
        "scores of ImageLocality follow the images that nodes have now",
        until="1.28",
    )
