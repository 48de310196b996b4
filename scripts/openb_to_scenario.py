"""Alibaba's GPU cluster trace ("openb") as a scenario: see scheduler_core/openb.py.

python scripts/openb_to_scenario.py NODES.csv PODS.csv > openb.json
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scheduler_core.commands.openb import main

if __name__ == "__main__":
    main()
