"""Answers why a pod of a live cluster is pending, also where its scheduler reported nothing."""
