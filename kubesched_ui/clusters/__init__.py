"""Live clusters: the follower, the stored history, and the queries that their pages use."""
