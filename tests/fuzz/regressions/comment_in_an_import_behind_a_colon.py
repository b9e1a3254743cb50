def inner(): from torch.cuda.amp import (
        autocast,  # one
    )  # two
x = 1; from torch.cuda.amp import (  # three
    GradScaler
); y = 2
