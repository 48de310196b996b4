"""Test outages of a server: nothing is lost, and each response is a result or a clear error.

python scripts/try_bad_days.py [DAY ...]

Days: slow, silent, locked, "read only" and full (the database), clocks (of two workers and a web process); all by
default. Prints a JSON line per day. Exit code 1: something was found. `full` needs a small file system, which root may
mount; otherwise it is skipped with a remark. tests/deployment/ has a sample.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.deployment.bad_days import DAYS, live_through, on_a_small_disk  # noqa: E402
from tests.deployment.compose import Machines  # noqa: E402
from tests.deployment.servers import MISSING  # noqa: E402

SECONDS, PODS, MEGABYTES = 12, 1500, 400


@contextmanager
def place(day: str) -> Iterator[Path | None]:
    """Return the folder of the database. Raise CalledProcessError if a file system cannot be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="kubesched-bad-day-"))
    if day != "full":
        yield None
        return
    subprocess.run(on_a_small_disk(folder, MEGABYTES), check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def main(days: list[str]) -> int:
    if MISSING:
        sys.exit(f"Not installed: {', '.join(MISSING)}.")
    found = 0
    for day in days or DAYS:
        try:
            with place(day) as where:
                machines = Machines(Path(tempfile.mkdtemp(prefix="kubesched-bad-day-")), 2, 3, where, clocks=True)
                try:
                    machines.up()
                    report = live_through(machines, day, SECONDS, PODS)
                finally:
                    machines.down()
        except subprocess.CalledProcessError as error:
            report = {"day": day, "left_out": str(error), "problems": []}
        found += len(report["problems"])
        print(json.dumps(report | {"logs": str(machines.folder)}), flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
