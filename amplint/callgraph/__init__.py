"""Who calls whom across the files of a project: which function a call in another file means, told from bytes and Python's tree."""
