"""Observability for operators: health and readiness of processes, metrics for Prometheus, logs."""
