"""Kill processes on a slow machine: each comes back, however long its start takes.

python scripts/try_slow.py KILLS [--cpu 0.12] [--load 0] [--minutes 30]

Starts KubeSched with an empty data folder and a live cluster in a control group with `--cpu` processors, together with
`--load` processes that compute all the time. Then kills the web process, the workers and the follower KILLS times with
kill -9, each again when it is back: the web process answers, a worker of each queue answers, the follower is up to
date. Prints a JSON line per kill, and one with shortest, median and longest seconds. Exit code 1: something was not
back after `--minutes`, or was killed by a watchdog. It needs root and control groups (version 1 or 2).
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.api_server.process import api_server  # noqa: E402
from tests.kubesched_ui.instance import Instance  # noqa: E402
from tests.kubesched_ui.live_clusters.settings_files import clusters_file  # noqa: E402

GROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
KINDS = {"web": "kubesched_ui.web.server", "worker": " -Q ", "follower": " -- live"}  # part of the command line
NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8", "pods": "110"}}}


class ControlGroup:
    """A control group with a part of the processors. Raises OSError without the rights."""

    def __init__(self, cpu: float) -> None:
        first = (GROUPS / "cpu").is_dir()
        self.parent = GROUPS / "cpu" if first else GROUPS
        self.folder = self.parent / f"kubesched-slow-{os.getpid()}"
        self.folder.mkdir()
        quota = int(cpu * PERIOD_US)
        if first:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Processes that are started in the `with` block belong to the group, with their children."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self.parent / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Kill what is left in it, and delete it."""
        while pids := (self.folder / "cgroup.procs").read_text().split():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.1)
        self.folder.rmdir()


class Trial:
    """`minutes`: until a process counts as lost."""

    def __init__(self, instance: Instance, minutes: float) -> None:
        self.instance, self.minutes = instance, minutes
        os.environ |= instance.environment | {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings"}
        import django

        django.setup()
        self.back: dict[str, Callable[[], bool]] = {
            "web": self.web_answers,
            "worker": self.workers_answer,
            "follower": self.follower_is_up_to_date,
        }
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.token = ""

    def web_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.instance.port}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def workers_answer(self) -> bool:
        from kubesched_ui.celery import app

        names = {name.partition("@")[0] for answer in app.control.ping(timeout=5, limit=2) for name in answer}
        return names == {"long", "short"}

    def follower_is_up_to_date(self) -> bool:
        from kubesched_ui.clusters.models import Cluster

        row = Cluster.everything.get(name="live")
        if row.follower == self.token or row.state != Cluster.State.FOLLOWING:
            return False
        self.token = row.follower
        return True

    def wait(self, kind: str, old: set[int]) -> float:
        """Return the seconds until a process other than the `old` ones is back; -1 if none is."""
        began = time.monotonic()
        while time.monotonic() - began < 60 * self.minutes:
            if set(self.instance.pids(KINDS[kind])) - old and self.back[kind]():
                return round(time.monotonic() - began, 1)
            time.sleep(1)
        return -1

    def kill(self, kind: str) -> float:
        """Kill the processes of this kind. Return the seconds until they are back."""
        old = set(self.instance.pids(KINDS[kind]))
        for pid in old:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self.wait(kind, old)

    def kill_often(self, kind: str, kills: int) -> None:
        """Wait for the first start, then kill so many times."""
        say({"start": kind, "seconds": self.wait(kind, set())})
        for number in range(1, kills + 1):
            seconds = self.kill(kind)
            self.seconds[kind].append(seconds)
            say({"kill": number, "of": kind, "seconds": seconds})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--cpu", type=float, default=0.12)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    try:
        group = ControlGroup(options.cpu)
    except OSError as error:
        sys.exit(f"No control group can be made ({error}); this needs root and control groups.")
    folder = Path(tempfile.mkdtemp(prefix="kubesched-slow-"))
    try:
        with api_server() as server:
            server.request("POST", "/api/v1/nodes", NODE, **{"Content-Type": "application/json"})
            instance = Instance(folder, CLUSTERS_FILE=str(clusters_file(folder, {"live": server.url})))
            began = time.monotonic()
            with group.inside():
                for _ in range(options.load):
                    subprocess.Popen([sys.executable, "-c", "while True: pass"])
                line = instance.start()
            say({"start": line.split("   ")[0], "seconds": round(time.monotonic() - began, 1)})
            trial = Trial(instance, options.minutes)
            threads = [threading.Thread(target=trial.kill_often, args=(kind, options.kills)) for kind in KINDS]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        group.remove()
    log = (folder / "log" / "supervisord.log").read_text()
    replaced = log.count("is replaced") + (folder / "log" / "follow.log").read_text().count("ended with -9")
    middle = {
        kind: [min(found), statistics.median(found), max(found)] for kind, found in trial.seconds.items() if found
    }
    too_many = replaced - len(trial.seconds["follower"])  # the log has the kills of this script, too
    say({"cpu": options.cpu, "load": options.load, "kills": options.kills, "seconds": middle, "by watchdogs": too_many})
    return int(too_many > 0 or any(-1.0 in found for found in trial.seconds.values()))


def say(report: dict[str, Any]) -> None:
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    sys.exit(main())
