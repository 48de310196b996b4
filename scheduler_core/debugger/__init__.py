"""Questions to a recording: what was recorded of a run, the cluster at any moment of it, where something happens."""
