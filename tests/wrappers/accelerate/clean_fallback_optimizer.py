import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import set_seed


def train(args, model, dataset, evaluate):
    accelerator = Accelerator(
        mixed_precision="fp16", log_with="wandb", kwargs_handlers=[DistributedDataParallelKwargs()]
    )
    set_seed(args.seed)
    try:
        from bitsandbytes.optim import AdamW8bit

        optimizer = AdamW8bit(model.parameters(), lr=args.lr)
    except ImportError:
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = torch.utils.data.DataLoader(dataset, batch_size=args.batch_size)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    total = 0.0
    for step, batch in enumerate(loader):
        if batch is None:
            continue
        with accelerator.accumulate(model):
            optimizer.zero_grad()
            with accelerator.autocast():
                loss = torch.nn.functional.mse_loss(model(batch["x"]), batch["y"])
            accelerator.backward(loss)
            if args.clip > 0 and accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            total += loss.detach().item()
        if accelerator.is_main_process and step % 500 == 0:
            accelerator.wait_for_everyone()
            unwrapped = accelerator.unwrap_model(model)
            torch.save(unwrapped.state_dict(), f"{args.folder}/{step}.pt")
            evaluate(unwrapped)
    accelerator.end_training()
    return total
