"""Python imports this first if it is in PYTHONPATH. The clock of the process is wrong by the seconds in a file.

Monotonic clocks (time.monotonic) are unchanged, as when the clock of a system is set.
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
