"""Reads a database of etcd: the objects of a cluster, and their history since the last compaction."""
