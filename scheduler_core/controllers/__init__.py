"""Controllers other than the scheduler: admission, node taints, evictions, workloads. See docs/virtual-time.md."""
