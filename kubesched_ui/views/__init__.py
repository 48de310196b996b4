"""Django views: URLs, and the context of each page.

A view reads the request, queries the data and renders a template.
"""
