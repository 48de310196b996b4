"""What is read: Kubernetes objects, quantities, selectors, spans of time."""
