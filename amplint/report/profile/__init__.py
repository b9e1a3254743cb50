"""A profile, shown: `text` for people at a terminal, `page` with charts, `json_document` for programs."""
