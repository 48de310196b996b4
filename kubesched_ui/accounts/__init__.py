"""Who may see what: people, groups, links, tokens, and what they did. docs/accounts.md tells the rules."""
