"""How Chromium is started, and how it shows a page to people who see colours differently."""

from __future__ import annotations

import shutil

from playwright.sync_api import Page

# The headless shell has the same engine without the windows around it, which cost most of a short test's time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def blind(page: Page, kind: str) -> None:
    """Shows the page as somebody with this kind of colour blindness sees it; "none" as everybody else does."""
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
