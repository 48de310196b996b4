"""The services of docker-compose.yml as plain processes on this machine, for tests and scripts/try_*.py."""
