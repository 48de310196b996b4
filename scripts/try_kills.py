"""Kill processes at random: nothing is lost, doubled or decided differently.

python scripts/try_kills.py SEED KILLS

Two web and four worker processes on PostgreSQL and Redis behind the proxy, 20 clients (sockets of events and of
decisions, HTTP), four active runs at any time. Each kill hits a web process, a worker, the broker or the database:
kill -9 with its children, a restart as `docker restart` does it, or SIGSTOP for up to eight seconds. Prints a JSON line
per kill, and one with the results. Exit code 1: there are problems. It keeps two processors busy;
tests/deployment/test_machines.py runs a sample.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.deployment.compose import Machines  # noqa: E402
from tests.deployment.kills import Trial  # noqa: E402
from tests.deployment.loads import loads  # noqa: E402
from tests.deployment.servers import MISSING  # noqa: E402

CLIENTS = 20


def say(report: dict[str, Any]) -> None:
    print(json.dumps(report), flush=True)


def main(seed: int, kills: int) -> int:
    if MISSING:
        sys.exit(f"Not installed: {', '.join(MISSING)}.")
    folder = Path(tempfile.mkdtemp(prefix="kubesched-kills-"))
    machines = Machines(folder)
    try:
        machines.up()
        trial = Trial(machines, seed, CLIENTS, say)
        trial.prepare(loads(300, 1500))
        trial.start()
        for number in range(1, kills + 1):
            trial.over.wait(trial.chance.uniform(0.5, 4))
            trial.kill(number)
        trial.finish()
    finally:
        machines.down()
    seen = trial.seen
    counts: dict[str, Any] = {
        "seed": seed,
        "kills": kills,
        "clients": CLIENTS,
        "runs": len(trial.runs),
        "watched": seen.watched,
    }
    counts |= {"events": seen.events, "followed": seen.followed, "decisions": seen.decisions}
    counts |= {"resumed": seen.resumed, "answers": dict(sorted(seen.statuses.items()))}
    say(counts | {"seconds": trial.now(), "problems": seen.problems[:50], "logs": str(folder)})
    return 1 if seen.problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
