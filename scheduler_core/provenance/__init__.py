"""Where a number comes from: trees whose inner values are computed from their leaves, and what builds them."""
