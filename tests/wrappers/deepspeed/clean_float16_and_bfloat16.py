import deepspeed
import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import OneCycleLR

HALF = {"train_batch_size": 8, "fp16": {"enabled": True, "loss_scale": 0}, "gradient_clipping": 1.0}
BFLOAT = {"train_batch_size": 8, "bf16": {"enabled": True}, "fp16": {"enabled": False}}


def train(model, dataset, criterion, steps, path):
    model = model.half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
    engine, wrapped, loader, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, training_data=dataset, config=HALF
    )
    for inputs, labels in loader:
        loss = engine.backward(criterion(engine(inputs.half()), labels))
        clip_grad_norm_(model.parameters(), 1.0)  # without effect, or not, by the stage of ZeRO
        engine.step()
        if engine.was_step_applied():
            scheduler.step()
        torch.save({"optimizer": wrapped.state_dict(), "loss": loss.item()}, path)


def accumulate(model, dataset, criterion):
    engine, _, loader, _ = deepspeed.initialize(model=model, training_data=dataset, config=HALF)
    for inputs, labels in loader:
        engine.scale(criterion(engine(inputs), labels)).backward()
        if engine.is_gradient_accumulation_boundary():
            print([param.grad.norm() for param in engine.parameters()])
        engine.step()


def two_engines(generator, critic, dataset, criterion):
    generator, optimizer, loader, _ = deepspeed.initialize(model=generator, training_data=dataset, config=HALF)
    critic, _, _, _ = deepspeed.initialize(model=critic, config=HALF)
    for real in loader:
        critic.backward(criterion(critic(real), 1.0))
        critic.step()
        generator.backward(criterion(critic(generator(real)), 0.0))
        generator.step()
        optimizer.zero_grad()


def in_bfloat16(model, dataset, criterion, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
    engine, _, loader, _ = deepspeed.initialize(model=model, optimizer=optimizer, training_data=dataset, config=BFLOAT)
    for inputs, labels in loader:
        loss = criterion(engine(inputs), labels)
        loss.backward()
        engine.step()
        scheduler.step()
