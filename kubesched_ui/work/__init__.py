"""Background work: claims and their leases, how work ends, and the turns of users."""
