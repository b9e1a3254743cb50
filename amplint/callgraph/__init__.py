"""Which function of another file does a call mean, as far as bytes and Python's own tree tell?"""
