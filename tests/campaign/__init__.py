"""The agreement campaign: random training programs, and what the two witnesses say about each of them."""
