"""Searches the cycles of a recording, and explains in detail what one of them computed."""
