"""Python imports this first where it is in PYTHONPATH: a process whose clock is wrong by what a file says, in seconds.

Clocks that only go on (time.monotonic) stay as they are, as they do when a system's clock is set.
"""

import os
import time
from datetime import datetime, timedelta

FILE = os.environ["CLOCK_WRONG_BY"]
right = time.time


def wrong_by() -> float:
    with open(FILE) as file:
        return float(file.read() or 0)


time.time = lambda: right() + wrong_by()

from django.utils import timezone  # noqa: E402

timezone.now = lambda: datetime.fromtimestamp(right(), timezone.get_default_timezone()) + timedelta(seconds=wrong_by())
