"""Registry of metrics of other packages. Each scrape calls the registered sources."""

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Sample(NamedTuple):
    """One metric value; `name` lacks the prefix `kubesched_`. `labels`: name -> value. `counter`: the value only
    grows."""

    name: str
    about: str
    value: float
    labels: dict[str, str] = {}
    counter: bool = False


Source = Callable[[], Iterable[Sample]]

of_this_process: list[Source] = []
of_the_database: list[Source] = []  # the same in every web process
