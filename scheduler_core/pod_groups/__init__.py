"""Pod groups of Kubernetes 1.36: pods that are scheduled together (gates GenericWorkload and GangScheduling)."""
