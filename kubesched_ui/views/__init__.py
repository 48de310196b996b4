"""The pages. A view reads the request, asks a module that knows, and renders."""
