import torch
from apex import amp
from apex.optimizers import FusedAdam
from apex.parallel import DistributedDataParallel


def train(model, loader, criterion, epochs=2, opt_level="O1"):
    model = model.cuda()
    optimizer = FusedAdam(model.parameters(), lr=1e-3)
    model, optimizer = amp.initialize(model, optimizer, opt_level=opt_level, loss_scale="dynamic")
    model = DistributedDataParallel(model, delay_allreduce=True)
    for epoch in range(epochs):
        for index, (images, labels) in enumerate(loader):
            loss = criterion(model(images), labels) / 2
            with amp.scale_loss(loss, optimizer, delay_unscale=index % 2 == 0) as scaled_loss:
                scaled_loss.backward()
            if index % 2:
                norm = torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                print(loss.item(), norm.item())
        checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "amp": amp.state_dict()}
        torch.save(checkpoint, f"{epoch}.pt")
