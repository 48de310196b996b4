"""python -m scheduler_core openb: the published comparison of placement policies on the openb trace."""

import argparse
from pathlib import Path
from statistics import fmean, pstdev
from typing import IO, Any

from scheduler_core.commands.console import print_json
from scheduler_core.errors import InputError
from scheduler_core.openb.policies import POLICIES
from scheduler_core.openb.replay import ARRIVED, Measurement, replay
from scheduler_core.openb.trace import read_nodes, read_pods

FIRST_SEED = 42
MAX_SEEDS = 1000


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write a JSON line for each policy and seed, and last the means and standard deviations. Raises InputError."""
    unknown = sorted(set(args.policies) - set(POLICIES))
    if unknown:
        raise InputError("openb", "--policies", f"{unknown[0]!r} is not one of {', '.join(POLICIES)}")
    if not 1 <= args.seeds <= MAX_SEEDS:
        raise InputError("openb", "--seeds", f"must be in 1..{MAX_SEEDS}, got {args.seeds}")
    nodes, pods = read_nodes(Path(args.nodes)), read_pods(Path(args.pods))
    means = {}
    for name in args.policies or POLICIES:
        runs = []
        for seed in range(FIRST_SEED, FIRST_SEED + args.seeds):
            runs.append(replay(nodes, pods, POLICIES[name], seed))
            print_json({"policy": name, "seed": seed, "measurements": [one._asdict() for one in runs[-1]]}, out)
        means[name] = _summary(runs)
    print_json({"nodes": len(nodes), "gpus": sum(node.devices for node in nodes), "policies": means}, out)
    return 0


def _summary(runs: list[list[Measurement]]) -> list[dict[str, Any]]:
    summary = []
    for position, arrived in enumerate(ARRIVED):
        at = [measurements[position] for measurements in runs]
        summary.append(
            {
                "arrived": arrived,
                "allocated": round(fmean(one.allocated for one in at), 3),
                "deviation": round(pstdev(one.allocated for one in at), 3),
                "fragmented": round(fmean(one.fragmented for one in at), 3),
                "fragment_ratio": round(fmean(one.fragment_ratio for one in at), 3),
            }
        )
    return summary
