import torch
from apex import amp
from apex.parallel import DistributedDataParallel


def train(model, optimizer, loader, criterion, writer):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    model = DistributedDataParallel(model)
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])  # expect: AMP102 none
            writer.add_scalar("norm", norm.item(), step)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()


def finetune(model, optimizer, loader, criterion, use_apex):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        if use_apex:
            with amp.scale_loss(loss, optimizer, delay_unscale=True) as scaled_loss:
                scaled_loss.backward()
                for param in model.parameters():
                    param.grad.clamp_(-1.0, 1.0)  # expect: AMP101 none
        else:
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
