"""What does one event make of the state of a training program, and when is it wrong?"""
