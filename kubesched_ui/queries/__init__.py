"""Queries: everything that reads a stored run or restores its cluster, with limits and caches; the core computes."""
