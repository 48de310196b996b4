"""What lives beside the scheduler in a cluster: admission, node taints, evictions, workloads. See docs/virtual-time.md."""
