"""The language server: findings, fixes and the pages of rules inside editors; imports pygls."""
