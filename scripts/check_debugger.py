"""Check forks and causes over many runs. Prints one JSON line.

    python scripts/check_debugger.py [--runs 30] [--cycles 5] [--cases 200]

Forks: runs of conformance cases and samples are forked before some cycles. Without changes the fork must equal the run.
With skip, weight and place its beginning must equal the run's, and all of its cycles those of a new run that gets the
changes at that cycle. Causes: the set of behaviours that explains another outcome in the newer release must give that
outcome, and no smaller set may.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.debugger.fork.stages import Stage  # noqa: E402
from scheduler_core.debugger.mutations import read_changes  # noqa: E402
from scheduler_core.simulation import Simulation  # noqa: E402
from scheduler_core.virtual_time.scenario_run import ScenarioRun  # noqa: E402
from tests.conformance import golden_cases  # noqa: E402
from tests.scheduler_core.debugger.causes import check, differing  # noqa: E402
from tests.scheduler_core.debugger.core_states import SAMPLES, scenario_at  # noqa: E402
from tests.scheduler_core.debugger.recorded_runs import (  # noqa: E402
    RecordedRun,
    forked,
    from_scratch,
    from_scratch_in_time,
    played,
    played_in_time,
)

IN_TIME = 6  # runs to fork


def changes_at(kept: RecordedRun, cycle: int, chance: random.Random) -> list[dict[str, Any]]:
    """Return one skip, one weight and one place for the pod of that cycle."""
    trace, names = kept.cycles[cycle - 1]
    return [
        {"skip": {"pod": trace.pod, "plugin": chance.choice([*trace.verdicts] or ["NodeResourcesFit"])}},
        {
            "weight": {
                "plugin": chance.choice([*trace.scores] or ["NodeResourcesFit"]),
                "weight": chance.randrange(1, 9),
            }
        },
        {"place": {"pod": trace.pod, "node": chance.choice(names)}},
    ]


def forks_once(runs: int, cycles: int) -> Counter[str]:
    """Check forks of single-pass runs."""
    found: Counter[str] = Counter()
    for case in some_cases(runs):
        settings = {
            "release": case["kubernetes"],
            "config": case.get("config"),
            "seed": 7,
            "preemption": bool(case.get("preempt")),
            "percentage": case.get("percentage"),
            "timer": lambda: 0,
        }
        kept = played(Simulation(case["objects"], pods=case.get("pods"), **settings))
        chance = random.Random(case["name"])
        found["runs"] += 1
        for cycle in [chance.randint(1, len(kept.cycles)) for _ in range(cycles)]:
            plain = forked(kept, cycle, settings)
            found["forks"] += 1
            found["without changes the run"] += plain.decisions == kept.decisions and plain.states() == kept.states()
            for change in changes_at(kept, cycle, chance):
                stages = [Stage(at=cycle, changes=read_changes([change]))]
                fork = forked(kept, cycle, settings, stages)
                scratch = from_scratch(Simulation(case["objects"], pods=case.get("pods"), **settings), stages)
                found["forks with a change"] += 1
                found["beginning is the run's"] += fork.decisions[: cycle - 1] == kept.decisions[: cycle - 1]
                found["as from scratch"] += fork.decisions == scratch.decisions
    return found


def some_cases(runs: int) -> list[dict[str, Any]]:
    """Yield cases of several pods, spread over the sets."""
    every = [case for release in ("v1.27", "v1.34") for case in golden_cases(release)]
    several = [case for case in every if len(case.get("pods") or ()) > 4]
    return several[:: max(1, len(several) // max(runs, 1))][:runs]


def forks_in_time(runs: int, cycles: int) -> Counter[str]:
    """Check forks of samples in virtual time."""
    found: Counter[str] = Counter()
    for path in sorted(SAMPLES.glob("1[3-8]-*.yaml"))[:runs]:
        kept = played_in_time(ScenarioRun(scenario_at(path)))
        chance = random.Random(path.stem)
        found["runs"] += 1
        for cycle in [chance.randint(1, len(kept.cycles)) for _ in range(cycles)]:
            plain = from_scratch_in_time(ScenarioRun(scenario_at(path)), [Stage(at=cycle)])
            found["forks"] += 1
            same = len(plain.records) == len(kept.records)
            found["without changes the run"] += same and plain.decisions == kept.decisions
            for change in changes_at(kept, cycle, chance):
                stage = Stage(at=cycle, changes=read_changes([change]))
                fork = from_scratch_in_time(ScenarioRun(scenario_at(path)), [stage])
                found["forks with a change"] += 1
                found["beginning is the run's"] += fork.decisions[: cycle - 1] == kept.decisions[: cycle - 1]
    return found


def causes(cases: int) -> dict[str, Any]:
    """Check the causes over two releases, up to two pods of each case that differs."""
    checked, sizes, named = 0, Counter[int](), Counter[str]()
    for case in [case for release in ("v1.27", "v1.34") for case in golden_cases(release)]:
        for a, b, pod in differing(case, "1.27", "1.34", most=2):
            cause = check(a, b, pod)
            checked += 1
            sizes[len(cause.units or ())] += 1
            named.update(unit.path for unit in cause.units or ())
        if checked >= cases:
            break
    return {"cases": checked, "sizes": dict(sizes), "behaviours": dict(named.most_common())}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--cycles", type=int, default=5)
    parser.add_argument("--cases", type=int, default=200)
    args = parser.parse_args()
    began = time.perf_counter()
    report = {
        "single-pass forks": forks_once(args.runs - IN_TIME, args.cycles),
        "virtual-time forks": forks_in_time(IN_TIME, args.cycles),
        "causes": causes(args.cases),
    }
    print(json.dumps(report | {"seconds": round(time.perf_counter() - began, 1)}))


if __name__ == "__main__":
    main()
