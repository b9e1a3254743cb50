import torch
import torch.multiprocessing as mp


def run_rank(rank, world, model, scaler):
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world)
    model = torch.nn.parallel.DistributedDataParallel(model.to(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in range(10):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.ones(4, 8, device=rank) * x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def main():
    world = torch.cuda.device_count()
    net = torch.nn.Linear(8, 8)
    scaler = torch.amp.GradScaler("cuda", growth_interval=100)
    mp.spawn(run_rank, args=(world, net, scaler), nprocs=world)  # expect: AMP115 display
