"""Test the whole API with Schemathesis: all of its checks, with documented and invalid requests.

python scripts/try_api.py URL [EXAMPLES [SEED [TOKEN [PHASES]]]]

URL: of a KubeSched whose data may be lost. A few runs of samples are started first as test data. EXAMPLES: maximum of
requests per operation (default 100). PHASES: of Schemathesis' examples, coverage, fuzzing, stateful (default all). Exit
code 1: something was found.
"""

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

CONFIG = Path(__file__).with_name("schemathesis.toml")
RUNS: list[dict[str, Any]] = [{}, {"in_time": True}, {"release": "1.16"}, {"copies": 0}]


def ask(url: str, token: str, body: dict[str, Any] | None = None) -> Any:
    """Return the response of the API. A body is posted."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


def start_runs(url: str, token: str) -> None:
    """Start a run of each kind, of the first samples. Return when they are finished."""
    scenarios = ask(f"{url}/api/scenarios", token)
    rows = scenarios["scenarios"] if isinstance(scenarios, dict) else scenarios
    numbers = sorted(row["id"] for row in rows)
    runs = [ask(f"{url}/api/scenarios/{n}/runs", token, wanted) for n, wanted in zip(numbers, RUNS, strict=False)]
    for run in runs:
        while ask(f"{url}{run['url']}", token)["state"] in ("queued", "running"):
            time.sleep(0.2)


def main(url: str, examples: str = "100", seed: str = "1", token: str = "", phases: str = "") -> int:
    start_runs(url.rstrip("/"), token)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run", f"{url}/api/openapi.json"),
        *("--checks", "all", "--max-examples", examples, "--seed", seed, "--no-shrink", "--continue-on-failure"),
        *("--request-timeout", "60", "--warnings", "off"),
        *(["--phases", phases] if phases else []),
        *(["--header", f"Authorization: Bearer {token}"] if token else []),
    ]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
