import torch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.l1_loss(self.model(batch).float(), torch.ones(len(batch), 1))
            self.do_0(loss)
        with torch.no_grad():
            self.outputs = [self.model(batch) for batch in batches]  # AMP202

    def do_0(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_value_(self.model.parameters(), 0.5)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)


def train(batches):
    Trainer().fit(batches)
