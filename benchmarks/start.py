"""Measure the time from `make run` to the first response.

    python benchmarks/start.py [--times 3]

`first`: with an empty data folder; `later`: with the folder of the first start; `page`: the first page; `first_worker`,
`later_worker`: until a worker answers as well. Each is the minimum of several, in seconds. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

from app import ROOT, call, free_port, worker_answers


def started(folder: str) -> tuple[float, float, float]:
    """Return the seconds until the address is logged, of the first page, and until a worker answers."""
    port = free_port()
    environment = {**os.environ, "KUBESCHED_VAR_DIR": folder, "KUBESCHED_PORT": str(port)}
    command = [sys.executable, "manage.py", "run"]
    began = time.perf_counter()
    product = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert product.stdout is not None
    try:
        assert product.stdout.readline().startswith("KubeSched is at")
        took, address = time.perf_counter() - began, f"http://127.0.0.1:{port}"
        page = call(address)[1]
        worker_answers(address)
        return took, page, time.perf_counter() - began
    finally:
        product.send_signal(signal.SIGINT)
        product.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a start takes.")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(given.times):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("first", "later"):
                took, page, worker = started(folder)
                seconds[name].append(took)
                seconds[f"{name}_worker"].append(worker)
                seconds["page"].append(page)
    print(json.dumps({name: round(min(each), 2) for name, each in seconds.items()}))


if __name__ == "__main__":
    main()
