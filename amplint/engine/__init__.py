"""How is a run made? One file from text to diagnostics, many files, their settings, the cache, and fixes applied."""
