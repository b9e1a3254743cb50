"""A traced run, shown: `text` for people at a terminal, `json_rows` for programs."""
