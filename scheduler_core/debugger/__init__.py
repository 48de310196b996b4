"""Recordings of runs, and queries of them: the cluster at any timepoint, searches, explanations and comparisons."""
