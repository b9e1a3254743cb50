import torch


@torch.autocast("cpu", dtype=torch.float16)
def compute_0(model, batch):
    loss = model(batch).mean()
    return loss


class Trainer:
    def __init__(self, extra):
        self.extra = extra
        self.model = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)

    def fit(self, batches):
        accumulate = 3 if self.extra else 1
        for step, batch in enumerate(batches):
            loss = compute_0(self.model, batch)
            loss.backward()
            if (step + 1) % accumulate != 0:
                continue
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=0.5)
            if not torch.isfinite(loss):
                self.optimizer.zero_grad()
                continue
            if not torch.isfinite(loss):
                self.optimizer.zero_grad()
                continue
            if not torch.isfinite(loss):
                self.optimizer.zero_grad()
                continue
            self.optimizer.step()
            self.optimizer.zero_grad()


def train(batches, extra):
    Trainer(extra).fit(batches)
