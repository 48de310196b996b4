"""Evidence that is not a cluster: logs, events and texts that show what a scheduler did."""
