"""The time from `make run` to the first response: seconds, the minimum of several starts.

`first`: with an empty data folder; `later`: with the folder of the first start; `page`: the first page; `first_worker`,
`later_worker`: until a worker answers as well.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.product import Product
from tests.kubesched_ui.instance import until


def measure(times: int = 3) -> Iterator[dict[str, Any]]:
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("first", "later"):
                began, product = time.perf_counter(), Product(Path(folder))
                product.start()
                try:
                    seconds[name].append(time.perf_counter() - began)
                    seconds["page"].append(product.call("/")[1])
                    until(lambda: product.status("/readyz") == 200, "a worker's answer", 300)  # noqa: B023
                    seconds[f"{name}_worker"].append(time.perf_counter() - began)
                finally:
                    product.interrupt()
    yield {name: round(min(each), 2) for name, each in seconds.items()}
