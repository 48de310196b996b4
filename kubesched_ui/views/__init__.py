"""Django views: URLs, and the context of each page.

A view reads the request, queries the data and renders a template. A `*_context.py` assembles the context of one page
from queries and presenters, and computes nothing that another page shows.
"""
