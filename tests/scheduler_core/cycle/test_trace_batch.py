"""Batches of cycles: each decodes to the cycle that was added."""

import random
import zlib
from contextlib import suppress
from functools import cache

import msgspec
import pytest

from scheduler_core.commands.bench import workload
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import VERSION, TraceBatch, TraceBatchEncoder, deflate
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from tests.scheduler_core.cycle.test_trace import assert_same, equal_pods


def batch_of(traces: list[CycleTrace]) -> bytes:
    encoder = TraceBatchEncoder()
    for trace in traces:
        encoder.add(trace, 14)
    assert len(encoder) == len(traces)
    data = deflate(encoder.encoded())
    assert len(encoder) == 0
    return data


@cache
def shared_cycles() -> tuple[list[str], list[CycleTrace]]:
    """Return the nodes and those cycles of equal pods that share parts."""
    names, traces = equal_pods()
    return names, [trace for trace in traces if trace.has_shared_parts]


def encoded_together() -> tuple[bytes, bytes]:
    """Return the last cycle of `equal_pods` on its own, and a batch of all that share parts."""
    _, traces = shared_cycles()
    return traces[-1].encode(), batch_of(traces)


def test_pods_that_differ_in_labels_share_a_layout() -> None:
    simulation = Simulation(workload("antiaffinity", 6, 20), release="1.34")
    traces = list(simulation.run())
    layouts = [trace.shared_parts().layout for trace in traces]
    assert len({trace.parts_key[0] for trace in traces}) > 2  # classes
    assert all(layout is layouts[0] for layout in layouts)


@pytest.mark.parametrize("name", ["basic", "spread", "antiaffinity", "prefaffinity", "preemption"])
def test_cycles_of_a_batch_decode_unchanged(name: str) -> None:
    nodes, pods = 12, 60
    simulation = Simulation(workload(name, nodes, pods), release="1.34", timer=lambda: 0)
    batches: list[tuple[bytes, list[CycleTrace]]] = []
    encoder, cycles = TraceBatchEncoder(), []
    for trace in simulation.run():
        selection = trace.selection()
        if trace.has_shared_parts:
            encoder.add(trace, 12)
            cycles.append(trace)
        if len(encoder) == 20:
            batches.append((deflate(encoder.encoded()), cycles))
            cycles = []
        trace.unrank()
        trace._selection = False
        assert trace.selection() == selection
        if selection is not None:
            total = dict(zip(trace.feasible_rows().tolist(), trace.total().tolist(), strict=True))
            score = total.pop(trace.selected_row)
            other = max(total, key=lambda row: total[row])  # the first of equals
            assert (selection.runner_up, selection.margin) == (other, score - total[other])
    assert batches
    for data, expected in batches:
        batch = TraceBatch(data)
        assert len(batch) == len(expected) == 20
        assert list(batch.counts) == [12] * 20
        order = list(enumerate(expected))
        random.Random(name).shuffle(order)
        for index, trace in order:
            assert_same(batch.trace(index), trace)
            assert batch.trace(index).golden(simulation.nodes) == trace.golden(simulation.nodes)
        head = TraceBatch(deflate_again(batch.head(7)))
        assert len(head) == 7
        assert_same(head.trace(6), expected[6])
        assert sum(len(trace.encode()) for trace in expected) > 2 * len(data)


def deflate_again(data: bytes) -> bytes:
    return deflate(zlib.decompress(data[1:]))


def test_damaged_batches_are_rejected() -> None:
    _, data = encoded_together()
    for bad in (b"", b"\x02" + data[1:], data[:1], data[:-1], data[: len(data) // 2]):
        with pytest.raises(InputError, match="cycle trace"):
            TraceBatch(bad)
    document = msgspec.msgpack.decode(zlib.decompress(data[1:]))
    dice = random.Random(1)
    for _ in range(200):
        plain = bytearray(msgspec.msgpack.encode(document))
        plain[dice.randrange(len(plain))] = dice.randrange(256)
        with suppress(InputError):  # another value may be a valid trace
            list(TraceBatch(bytes((VERSION,)) + zlib.compress(bytes(plain))))
