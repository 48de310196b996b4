"""What was recorded, read back and arranged for the eye."""
