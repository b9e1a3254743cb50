import deepspeed
import torch

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 4,
    "gradient_clipping": 1.0,
    "fp16": {"enabled": True, "initial_scale_power": 16, "loss_scale": 0},
    "zero_optimization": {"stage": 2},
}


def train(model, dataset, criterion, save_to):
    parameters = [param for param in model.parameters() if param.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    model_engine, optimizer, loader, scheduler = deepspeed.initialize(
        model=model, optimizer=optimizer, model_parameters=parameters, training_data=dataset, config=CONFIG
    )
    for step, (inputs, labels) in enumerate(loader):
        inputs = inputs.to(model_engine.local_rank).half()
        loss = criterion(model_engine(inputs), labels.to(model_engine.local_rank))
        model_engine.backward(loss)
        model_engine.step()
        if step % 100 == 0:
            print(loss.item(), model_engine.get_global_grad_norm())
            model_engine.save_checkpoint(save_to, client_state={"step": step})
