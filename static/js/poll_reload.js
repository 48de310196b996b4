// A page that is being made: asks for it again. A Refresh header would not where the address has a part behind "#":
// browsers take that for a way within the page.
setTimeout(() => location.reload(), 1000);
