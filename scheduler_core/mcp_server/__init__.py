"""A server of the Model Context Protocol: assistants ask the questions of the command line as tools that only read."""
