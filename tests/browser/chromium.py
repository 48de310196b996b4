"""Start of Chromium, and simulation of colour blindness."""

from __future__ import annotations

import shutil

from playwright.sync_api import Page

# The headless shell has the same engine without windows, which took most of the time of a short test.
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


def emulate_colour_blindness(page: Page, kind: str) -> None:
    """Show the page as with this kind of colour blindness, or "none"."""
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
