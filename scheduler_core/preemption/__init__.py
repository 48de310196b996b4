"""Preemption: selects the victims on each node and the node with the lowest cost."""
