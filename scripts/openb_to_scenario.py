"""Alibaba's GPU cluster trace ("openb") as a scenario: see scheduler_core/openb/scenario.py.

python scripts/openb_to_scenario.py NODES.csv PODS.csv > openb.json
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scheduler_core.openb.scenario import scenario

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Alibaba's GPU cluster trace (openb) as a scenario.")
    parser.add_argument("nodes", type=Path, help="openb_node_list_*.csv, may be gzipped")
    parser.add_argument("pods", type=Path, help="openb_pod_list_*.csv, may be gzipped")
    parser.add_argument("--limit", type=int, help="only the first so many pods by creation time")
    given = parser.parse_args()
    try:
        json.dump(scenario(given.nodes, given.pods, given.limit), sys.stdout)
    except KeyError as error:
        parser.error(f"a column {error} is missing: is this the openb trace?")
    except (ValueError, OSError) as error:
        parser.error(str(error))
