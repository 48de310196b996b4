"""What happens becomes events and rows; the socket that sends them on."""
