// Reloads until the page is ready. A Refresh header would not work for a URL with a fragment ("#"): browsers treat it
// as navigation within the page.
setTimeout(() => location.reload(), 1000);
