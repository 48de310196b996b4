"""Access control: users, groups, links, tokens and the audit log. docs/accounts.md describes the rules."""
