"""Commands and options; a module per command.

Callbacks of click share their arguments.

Args:
    ctx: click's.
    param: the option or argument that is read or completed, for messages.
    value: what was written; None where the option is not given.
    values: what was written, each time that the option is given.
    incomplete: what is typed so far.
"""
