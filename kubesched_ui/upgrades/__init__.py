"""Upgrade previews: what other releases would do with a scenario, and which of their changes do it."""
