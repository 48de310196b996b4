"""The pages: addresses, views, and what each page shows. A view reads the request, asks who knows, and renders."""
