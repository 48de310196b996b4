"""What lets several machines serve one address: a cache for all of them, one at a time, leaving without a loss."""
