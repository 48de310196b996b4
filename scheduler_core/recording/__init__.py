"""The recording of a run, and the cluster at any timepoint of it."""
