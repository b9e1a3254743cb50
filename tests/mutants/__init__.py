"""Wrong repairs, thousands of them: what `amplint verify` says of each, and that it never says "confirmed"."""
