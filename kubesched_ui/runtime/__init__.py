"""How processes start, are kept, take turns and leave without a loss, on one machine and on several."""
