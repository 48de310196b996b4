"""Fragmentation of GPUs: hand-computed cases, and a straightforward version for each node, pod and device."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from scheduler_core.metrics.fragmentation import GPUShape, TypicalPods, fragments

MODELS = ["P100", "T4", "V100"]


def amounts(shapes: Sequence[GPUShape], cpu: int, devices: Sequence[int], model: str, coverage: float = 1.0) -> float:
    """Return the fragmentation of one node."""
    typical = TypicalPods.from_shapes(shapes, MODELS, coverage)
    row = np.array([list(devices) + [0] * (8 - len(devices))], np.int64)
    (found,) = fragments(typical, np.array([cpu]), row, np.array([MODELS.index(model)]))
    return float(found)


HALF, WHOLE, TWO = GPUShape(1000, 1, 500), GPUShape(4000, 1, 1000), GPUShape(8000, 2, 1000)


@pytest.mark.parametrize(
    ("shapes", "cpu", "devices", "expected"),
    [
        ([HALF], 8000, [1000, 400], 400),  # the second device is too small
        ([HALF], 500, [1000, 400], 1400),  # not enough CPU: all that is idle
        ([TWO], 8000, [1000, 400], 1400),  # one whole device is not two
        ([TWO], 8000, [1000, 1000, 300], 300),
        ([GPUShape(1000, 0, 0)], 8000, [1000, 400], 1400),  # requests no GPU
        ([HALF, HALF, HALF, WHOLE], 2000, [1000, 400], 0.75 * 400 + 0.25 * 1400),
        ([GPUShape(1000, 1, 500, ("T4",))], 8000, [1000], 1000),  # another model
        ([GPUShape(1000, 1, 500, ("T4", "P100"))], 8000, [1000], 0),
        ([HALF], 8000, [], 0),
    ],
)
def test_fragmentation_of_a_node(shapes: list[GPUShape], cpu: int, devices: list[int], expected: float) -> None:
    assert amounts(shapes, cpu, devices, "P100") == pytest.approx(expected)


def test_typical_pods_are_the_most_frequent_shapes_up_to_the_coverage() -> None:
    shapes = [HALF] * 6 + [WHOLE] * 3 + [TWO]
    typical = TypicalPods.from_shapes(shapes, MODELS, 0.9)
    assert typical.milli.tolist() == [500, 1000]
    assert typical.devices.tolist() == [1, 1]
    assert typical.popularity.tolist() == pytest.approx([6 / 9, 3 / 9])


def test_no_pods_have_no_typical_pods() -> None:
    assert amounts([], 8000, [1000], "T4") == 0


def straightforward(shapes: Sequence[GPUShape], coverage: float, cpu: int, devices: list[int], model: str) -> Fraction:
    """Return the fragmentation of a node by the definition of the paper."""
    ranked = sorted(Counter(shapes).items(), key=lambda item: (item[1], item[0]), reverse=True)
    chosen: list[tuple[GPUShape, int]] = []
    while ranked and sum(count for _, count in chosen) < coverage * len(shapes):
        chosen.append(ranked.pop(0))
    total = Fraction(0)
    for shape, count in chosen:
        places = [idle for idle in devices if shape.milli and idle >= shape.milli]
        accepted = not shape.models or model in shape.models
        if shape.devices == 0 or cpu < shape.cpu or not accepted or len(places) < shape.devices:
            lost = sum(devices)
        else:
            lost = sum(idle for idle in devices if idle < shape.milli)
        total += Fraction(count, sum(count for _, count in chosen)) * lost
    return total


def test_fragmentation_equals_a_straightforward_version_on_1000_small_clusters() -> None:
    generator = random.Random(7)
    for _ in range(1000):
        shapes = []
        for _ in range(generator.randint(1, 12)):
            devices = generator.choice([0, 1, 1, 2, 4])
            milli = 0 if devices == 0 else generator.choice([100, 500, 1000]) if devices == 1 else 1000
            models = tuple(generator.sample(MODELS, generator.choice([0, 0, 1, 2])))
            shapes.append(GPUShape(generator.choice([500, 2000, 8000]), devices, milli, models))
        coverage = generator.choice([0.5, 0.95, 1.0])
        nodes = []
        for _ in range(generator.randint(1, 6)):
            idle = [generator.choice([0, 50, 300, 500, 1000]) for _ in range(generator.randint(0, 8))]
            nodes.append((generator.choice([0, 1000, 4000, 16000]), idle, generator.choice(MODELS)))
        found = fragments(
            TypicalPods.from_shapes(shapes, MODELS, coverage),
            np.array([cpu for cpu, _, _ in nodes]),
            np.array([idle + [0] * (8 - len(idle)) for _, idle, _ in nodes]),
            np.array([MODELS.index(model) for _, _, model in nodes]),
        )
        expected = [float(straightforward(shapes, coverage, *node)) for node in nodes]
        assert found.tolist() == pytest.approx(expected, abs=1e-6)
