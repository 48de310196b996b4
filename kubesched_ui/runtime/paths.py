"""Paths of resources (files that are not Python) and of state, in a checkout and in an installed package."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
BASE_DIR = PACKAGE.parent  # both packages are importable from here
INSTALLED = not (BASE_DIR / "manage.py").exists()
RESOURCES = PACKAGE / "resources" if INSTALLED else BASE_DIR  # templates/, static/, docs/


def default_data_folder() -> Path:
    """Return var/ of the checkout. For an installed package, return the data folder of the user by the XDG
    specification."""
    if not INSTALLED:
        return BASE_DIR / "var"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "kubesched"
