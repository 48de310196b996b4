"""The state of the cluster: nodes as columns, pods counted by class, the objects that plugins look up."""
