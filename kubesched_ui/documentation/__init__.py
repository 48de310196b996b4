"""The documentation of the repository as pages."""
