"""What replays measured, as text, as JSON and as a page."""
