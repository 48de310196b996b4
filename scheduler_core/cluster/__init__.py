"""The cluster state: nodes as columns, pod counts by label class, and the objects that plugins look up."""
