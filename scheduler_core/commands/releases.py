"""python -m scheduler_core releases: writes docs/releases.md."""

import argparse
from typing import IO

from scheduler_core.releases.changelog_page import page


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the page. Returns 0."""
    out.write(page())
    return 0
