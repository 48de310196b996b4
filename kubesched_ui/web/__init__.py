"""The web server: requests from connections, checks of every request, static files."""
