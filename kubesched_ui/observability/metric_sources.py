"""Numbers that other rooms have for Prometheus: they say where to ask, and are asked when somebody scrapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Sample(NamedTuple):
    """One number, without the `kubesched_` of its name. `labels`: name -> value. `counter`: it only grows."""

    name: str
    told: str
    value: float
    labels: dict[str, str] = {}
    counter: bool = False


Source = Callable[[], Iterable[Sample]]

of_this_process: list[Source] = []
