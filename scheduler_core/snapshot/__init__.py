"""What a snapshot becomes before a run: read, filled in as an API server would, completed. `prepare` is the way in."""
