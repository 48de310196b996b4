"""Queries of recorded runs, answered by the core from stored data, with limits and caches."""
