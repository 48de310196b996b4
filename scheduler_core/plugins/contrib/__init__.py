"""The plugins of sigs.k8s.io/scheduler-plugins, one file for each, named after upstream's.

They are not part of kube-scheduler. They decide as scheduler-plugins for Kubernetes 1.35.4 does.
"""
