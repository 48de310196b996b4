"""Devices for claims (dynamic resource allocation): slices and pools, selectors, the search for devices, claims.

Upstream: staging/src/k8s.io/dynamic-resource-allocation.
"""
