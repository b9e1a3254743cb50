import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")


def step(model, optimizer, criterion, inputs, targets):
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    return torch.stack([param.grad.norm() for param in model.parameters()]).norm().item()


def prepared_one_by_one(net, loader, criterion):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net = accelerator.prepare_model(net)
    optimizer = accelerator.prepare_optimizer(optimizer)
    for inputs, targets in accelerator.prepare_data_loader(loader):
        accelerator.backward(criterion(net(inputs), targets))
        optimizer.step()
        print(sum(param.grad.norm() for param in net.parameters()).item())
        optimizer.zero_grad()


def prepared_as_a_list(net, loader, criterion):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    objects = [net, optimizer, loader]
    net, optimizer, loader = accelerator.prepare(*objects)
    for inputs, targets in loader:
        accelerator.backward(criterion(net(inputs), targets))
        optimizer.step()
        print(sum(param.grad.norm() for param in net.parameters()).item())
        optimizer.zero_grad()


class Trainer:
    def __init__(self, generator, discriminator, opt_g, opt_d):
        self.generator, self.discriminator = generator, discriminator
        self.opt_g, self.opt_d = opt_g, opt_d

    def step(self, real, noise, criterion):
        self.opt_d.zero_grad()
        accelerator.backward(criterion(self.discriminator(real), self.discriminator(self.generator(noise).detach())))
        self.opt_d.step()
        self.opt_g.zero_grad()
        accelerator.backward(criterion(self.discriminator(self.generator(noise)), None))
        self.opt_g.step()


def gan(accelerator, generator, discriminator, opt_g, opt_d, loader, criterion):
    for real in loader:
        opt_d.zero_grad()
        fake = generator(torch.randn(4, 64))
        accelerator.backward(criterion(discriminator(real)) - criterion(discriminator(fake.detach())))
        accelerator.clip_grad_norm_(discriminator.parameters(), 1.0)
        opt_d.step()
        opt_g.zero_grad()
        accelerator.backward(-criterion(discriminator(fake)))
        opt_g.step()
        print(sum(param.grad.norm() for param in generator.parameters()).item())


def main(generator, discriminator, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    opt_g, opt_d = torch.optim.Adam(generator.parameters()), torch.optim.Adam(discriminator.parameters())
    generator, discriminator, opt_g, opt_d, loader = accelerator.prepare(generator, discriminator, opt_g, opt_d, loader)
    gan(accelerator, generator, discriminator, opt_g, opt_d, loader, criterion)
