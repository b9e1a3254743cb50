import torch

try:
    from apex import amp
except ImportError:
    amp = None


class Trainer:
    def __init__(self, model, criterion, use_apex=False):
        self.model, self.criterion, self.use_apex = model, criterion, use_apex and amp is not None
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = None
        if self.use_apex:
            self.model, self.optimizer = amp.initialize(self.model, self.optimizer, opt_level="O1")
        else:
            self.scaler = torch.amp.GradScaler("cuda")

    def step(self, images, labels):
        self.optimizer.zero_grad()
        if self.use_apex:
            loss = self.criterion(self.model(images), labels)
            with amp.scale_loss(loss, self.optimizer) as scaled_loss:
                scaled_loss.backward()
            torch.nn.utils.clip_grad_norm_(amp.master_params(self.optimizer), 1.0)
            self.optimizer.step()
        else:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.criterion(self.model(images), labels)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return loss.item()
