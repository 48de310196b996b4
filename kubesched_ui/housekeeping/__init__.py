"""What is kept, for how long, and how much of it: room on the disk, limits for people, days (docs/operations.md)."""
