def inner():
    from torch.cuda.amp import (
        autocast,  # one
    )  # two
