import torch


class LossScaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cpu")

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def train_one_epoch(model, optimizer, loss_scaler, scheduler, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.l1_loss(model(batch).float(), torch.ones(len(batch), 1))
            loss_scaler(loss, optimizer)
        scheduler.step()


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_scaler = LossScaler()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
    train_one_epoch(model, optimizer, loss_scaler, scheduler, batches)
