"""Damaged and odd programs, thousands of them: whatever amplint is given, it keeps what it promises (docs/reliability.md)."""
