"""Dynamic resource allocation: slices and pools, selectors, the search for devices, and claims.

Upstream: staging/src/k8s.io/dynamic-resource-allocation.
"""
