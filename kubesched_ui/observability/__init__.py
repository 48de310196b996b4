"""What an operator sees of the processes: whether they live and are ready, numbers for Prometheus, logs."""
