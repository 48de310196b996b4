"""Reads the tables of the openb trace.

Source: hkust-adsl/kubernetes-scheduler-simulator, data/csv (openb_node_list_*.csv and openb_pod_list_*.csv).
"""

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scheduler_core.errors import InputError
from scheduler_core.metrics.fragmentation import DEVICE, GPUShape

MAX_DEVICES = 8  # of a node of the trace


class TraceNode(NamedTuple):
    """A node with GPUs. `cpu`: thousandths. `memory`: MiB."""

    name: str
    cpu: int
    memory: int
    devices: int
    model: str


class TracePod(NamedTuple):
    """A pod of the trace. `memory`: MiB."""

    name: str
    shape: GPUShape
    memory: int


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file, which may be gzipped, by column. Raises ValueError with file and line."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        reader = csv.DictReader(file)
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{path.name}, line {reader.line_num}: expected {len(reader.fieldnames or [])} columns"
                )
            yield row


def read_nodes(path: Path) -> list[TraceNode]:
    """Return the nodes with GPUs, by name. Raises InputError."""
    nodes = [
        TraceNode(
            _text(row, "sn", where),
            _number(row, "cpu_milli", where),
            _number(row, "memory_mib", where),
            _number(row, "gpu", where, MAX_DEVICES),
            _text(row, "model", where),
        )
        for where, row in _numbered(path)
    ]
    found = sorted(node for node in nodes if node.devices)
    if not found:
        raise InputError(path.name, "gpu", "no node has a GPU")
    return found


def read_pods(path: Path) -> list[TracePod]:
    """Return the pods, by name. Raises InputError."""
    pods = []
    for where, row in _numbered(path):
        devices = _number(row, "num_gpu", where, MAX_DEVICES)
        milli = _number(row, "gpu_milli", where, DEVICE) if devices else 0
        if devices and (milli == 0 or (devices > 1 and milli < DEVICE)):
            raise InputError(where, "gpu_milli", f"{milli} of each of {devices} GPUs cannot be requested")
        models = tuple(model for model in _text(row, "gpu_spec", where).split("|") if model)
        shape = GPUShape(_number(row, "cpu_milli", where), devices, milli, models)
        pods.append(TracePod(_text(row, "name", where), shape, _number(row, "memory_mib", where)))
    if not any(pod.shape.gpu for pod in pods):
        raise InputError(path.name, "gpu_milli", "no pod requests a GPU")
    return sorted(pods)


def _numbered(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        for number, row in enumerate(rows(path), 1):
            yield f"{path.name}, row {number}", row
    except (OSError, EOFError, ValueError, csv.Error) as error:
        raise InputError(path.name, "", str(error)) from None


def _text(row: Mapping[str, str], column: str, where: str) -> str:
    if column not in row:
        raise InputError(where, column, "the column is missing: is this a table of the openb trace?")
    return row[column]


def _number(row: Mapping[str, str], column: str, where: str, most: int = 1 << 40) -> int:
    text = _text(row, column, where) or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) <= most):
        raise InputError(where, column, f"must be a whole number up to {most}, got {text[:40]!r}")
    return int(text)
