"""The search over pods, nodes, runs, scenarios, lessons, documentation and actions."""
