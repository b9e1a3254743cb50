"""What a class keeps of its constructor's arguments is what the calls in other files give, by whatever names."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TRAINER = """
    import torch
    from torch.nn.parallel import DistributedDataParallel

    class Trainer:
        def __init__(self, {parameter}, optimizer):
            self.{attribute} = {kept}
            self.optimizer = optimizer
            self.scaler = torch.amp.GradScaler("cuda")

        def fit(self, loader):
            for x in loader:
                self.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.{attribute}(x)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
"""
NETS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(64, 1)

        def forward(self, x):
            return -torch.log(torch.sigmoid(self.fc(x))).mean()

    def build_net():
        return Net()
"""
FOUND = {"nets.py:11 AMP305"}


def main(variable: str, made: str = "Net()", given: str = "") -> str:
    """A script that makes a model and hands it to the trainer."""
    return f"""
    import torch
    from nets import Net, build_net
    from trainer import Trainer

    def main(loader):
        {variable} = {made}
        Trainer({given or variable}, torch.optim.Adam(torch.nn.Linear(1, 1).parameters())).fit(loader)
"""


@pytest.mark.parametrize("variable", ["net", "model", "network"])
@pytest.mark.parametrize("parameter", ["net", "model", "network"])
@pytest.mark.parametrize("attribute", ["net", "model", "network"])
def test_the_names_are_of_no_account(tmp_path: Path, variable: str, parameter: str, attribute: str) -> None:
    trainer = TRAINER.format(parameter=parameter, attribute=attribute, kept=parameter)
    root = project(tmp_path, nets=NETS, trainer=trainer, main=main(variable))
    assert found_in(root, select=("AMP305",)) == FOUND


@pytest.mark.parametrize(
    ("kept", "made", "is_found"),
    [
        ("network.to('cuda')", "Net()", True),
        ("DistributedDataParallel(network.cuda())", "Net()", True),
        ("network()", "build_net", True),
        ("network()", "Net", True),
        ("network()", "Net()", False),
        ("network", "build_net", False),
        ("network.part", "Net()", False),
    ],
)
def test_what_is_kept_of_an_argument(tmp_path: Path, kept: str, made: str, is_found: bool) -> None:
    trainer = TRAINER.format(parameter="network", attribute="model", kept=kept)
    root = project(tmp_path, nets=NETS, trainer=trainer, main=main("net", made))
    assert found_in(root, select=("AMP305",)) == (FOUND if is_found else set())


HANDS_ON = """
    import torch
    from trainer import Trainer

    def run(handed, loader):
        {before}
        Trainer(handed, torch.optim.Adam(handed.parameters())).fit(loader)
"""


@pytest.mark.parametrize(("before", "is_found"), [("pass", True), ("handed = torch.nn.Linear(64, 1)", False)])
def test_a_function_that_hands_on_what_it_is_given(tmp_path: Path, before: str, is_found: bool) -> None:
    script = """
    from nets import Net
    from running import run

    def main(loader):
        run(Net().cuda(), loader)
"""
    trainer = TRAINER.format(parameter="network", attribute="model", kept="network")
    root = project(tmp_path, nets=NETS, trainer=trainer, running=HANDS_ON.format(before=before), main=script)
    assert found_in(root, select=("AMP305",)) == (FOUND if is_found else set())


BY_NAME = """
    import importlib

    def get_model(kind, submodule):
        {before}
        module = importlib.import_module({text})
        return {found}
"""
RUN = """
    from building import get_model
    from trainer import Trainer
    import torch

    def main(loader, kind):
        net = get_model(kind, kind){made}
        Trainer(net, torch.optim.Adam(net.parameters())).fit(loader)
"""


@pytest.mark.parametrize(
    ("before", "text", "found", "made", "is_found"),
    [
        ("pass", '"pkg.models." + kind.lower()', "getattr(module, kind)", "()", True),
        ("pass", 'f"pkg.models.{kind}"', "getattr(module, kind)", "()", True),
        ("pass", '"pkg.models.{}".format(kind)', "getattr(module, kind)", "()", True),
        ("pass", '"pkg.models.%s" % kind', "getattr(module, kind)()", "", True),
        ("pass", '"pkg.models.net"', 'getattr(module, "Net")', "()", True),
        ("pass", '"pkg.models.net"', "module.Net()", "", True),
        ("name = '.'.join(['pkg', submodule, kind])", "name", "getattr(module, kind)", "()", True),
        ("pass", '"pkg.others." + kind.lower()', "getattr(module, kind)", "()", False),
        ("pass", "kind", "getattr(module, kind)", "()", False),
        ("pass", '"pkg.models." + kind.lower()', 'getattr(module, "Other")', "()", False),
    ],
)
@pytest.mark.parametrize("is_package", [True, False])
def test_a_module_that_is_imported_by_a_text(
    tmp_path: Path, is_package: bool, before: str, text: str, found: str, made: str, is_found: bool
) -> None:
    other = "from torch import nn\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return x.mean()\n"
    root = project(
        tmp_path,
        **({"pkg_init": "", "pkg_models_init": ""} if is_package else {}),
        pkg_models_net=NETS,
        pkg_models_other=other,
        trainer=TRAINER.format(parameter="network", attribute="model", kept="network"),
        building=BY_NAME.format(before=before, text=text, found=found),
        main=RUN.format(made=made),
    )
    assert found_in(root, select=("AMP305",)) == ({"pkg/models/net.py:11 AMP305"} if is_found else set())


TABLE = """
    import torch
    from nets import Net, Other
    from trainer import Trainer

    def main(loader, kind):
        net = {{"net": Net, "1": Other, "2": Other, "3": Other, "4": Other, "5": {last}}}[kind]()
        Trainer(net, torch.optim.Adam(net.parameters())).fit(loader)
"""


@pytest.mark.parametrize("last", ["Other", "Net", "torch.nn.Linear"])
def test_a_table_without_a_name_of_many_classes(tmp_path: Path, last: str) -> None:
    trainer = TRAINER.format(parameter="network", attribute="model", kept="network")
    nets = NETS + "\n    class Other(Net):\n        pass\n"
    root = project(tmp_path, nets=nets, trainer=trainer, main=TABLE.format(last=last))
    assert found_in(root, select=("AMP305",)) == FOUND


NETS_OF_TWO_KINDS = (
    NETS
    + """
    class Good(nn.Module):
        def forward(self, x):
            return x.mean()
"""
)


@pytest.mark.parametrize(
    ("kept", "method"),
    [
        ("network = Good()\n            self.model = network", "pass"),
        ("self.model = network", "def use(self, good):\n            self.model = good"),
    ],
)
def test_a_constructor_that_does_not_keep_what_it_is_given(tmp_path: Path, kept: str, method: str) -> None:
    trainer = TRAINER.format(parameter="network", attribute="model", kept="None")
    trainer = trainer.replace("self.model = None", kept).replace(
        "        def fit(", f"        {method}\n\n        def fit("
    )
    trainer = trainer.replace("import torch\n", "import torch\n    from nets import Good\n", 1)
    root = project(tmp_path, nets=NETS_OF_TWO_KINDS, trainer=trainer, main=main("net"))
    assert found_in(root, select=("AMP305",)) == set()


def test_another_class_of_the_file_is_given_another_model(tmp_path: Path) -> None:
    trainer = TRAINER.format(parameter="network", attribute="model", kept="network")
    plain = """
    class Plain:
        def __init__(self, network):
            self.model = network

        def fit(self, loader):
            for x in loader:
                self.model(x).backward()
"""
    script = """
    import torch
    from nets import Good, Net
    from trainer import Plain, Trainer

    def run(loader):
        Plain(Net()).fit(loader)
        net = Good()
        Trainer(net, torch.optim.Adam(net.parameters())).fit(loader)
"""
    root = project(tmp_path, nets=NETS_OF_TWO_KINDS, trainer=trainer + plain, main=script)
    assert found_in(root, select=("AMP305",)) == set()
