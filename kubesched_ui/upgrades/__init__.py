"""Upgrade previews: effects of other releases on a scenario, and their causes."""
