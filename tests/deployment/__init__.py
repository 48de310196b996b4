"""What docker-compose.yml starts, as plain processes on this machine: for tests and scripts/try_*.py."""
