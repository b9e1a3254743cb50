"""`amplint trace`: a training script runs unchanged, and what its mixed precision does is written down.

`script` runs the program as `python` would. `session` puts the watches around it: the protocol's recorder
(`amplint.runtime.recording`), `steps` (scale, skips, losses, norms), `module_ranges` (the largest value that each module gives,
forward and backward) and, where asked, `operations` (every operation). `origin` says where the first value came from that is
not finite, and why; for the operation at fault, and for what time is spent on, `second_look` runs one step again. What comes
out is a `TraceRecord` (`trace_record`), plain data that `amplint.report` shows.
"""
