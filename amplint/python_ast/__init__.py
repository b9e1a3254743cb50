"""What do bytes and Python's own parser tell of a file, before LibCST is imported?"""
