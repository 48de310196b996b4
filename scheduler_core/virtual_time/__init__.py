"""Runs in virtual time: the clock, the event loop, a simulated API server with its watchers, and scenario files."""
