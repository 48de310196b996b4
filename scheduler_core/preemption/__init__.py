"""Preemption: which pods could be evicted where, and where it hurts least."""
