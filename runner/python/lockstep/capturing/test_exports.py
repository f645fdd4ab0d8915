"""Programs that export, and those that ask AOTInductor for packages."""

import textwrap

import pytest

NET = textwrap.dedent(
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 3)
            self.norm = nn.BatchNorm1d(3)
        def forward(self, x):
            return self.norm(self.fc(x)).half().float()
    net = Net()
    x = torch.randn(2, 4)
    """
)


def test_an_exported_program(record):
    ran = record(NET + "print(torch.export.export(net, (x,)).module()(x).shape)")
    assert ran.text == "torch.Size([2, 3])\n", ran.errors
    assert [path.name for path in ran.only().paths] == ["export"]
    assert ran.only().program["steps"][0]["source"]["name"] == "Net.forward"


def test_an_export_leaves_the_program_as_it_was(record):
    text = NET + "torch.export.export(net, (x,))\nprint(net.norm.running_mean, torch.rand(2))"
    assert record("torch.manual_seed(0)\n" + text).text == (
        record("torch.manual_seed(0)\n" + text.replace("torch.export.export(net, (x,))", "")).text
    )


@pytest.mark.parametrize(
    "program",
    [
        """
        program = torch.export.export(net, (x,))
        file = torch._inductor.aoti_compile_and_package(program)
        package = torch._inductor.aoti_load_package(file)
        """,
        """
        torch._inductor.aoti_compile_and_package(
            torch.export.export(net, (x,)), package_path="net.pt2"
        )
        from torch._inductor.package import load_package
        package = load_package("net.pt2")
        """,
        """
        program = torch.export.export(net, (x,)).run_decompositions()
        package = torch._inductor.aoti_load_package(
            torch._inductor.aoti_compile_and_package(program, inductor_configs={})
        )
        """,
        """
        package = torch._export.aot_load(torch._export.aot_compile(net, (x,)), "cpu")
        """,
        """
        module = torch.export.export(net, (x,)).module()
        package = torch._export.aot_load(torch._inductor.aot_compile(module, (x,)), "cpu")
        """,
    ],
    ids=["package", "path", "decomposed", "export-aot", "inductor-aot"],
)
def test_a_package_is_judged_on_its_path_and_executed_eagerly(record, case_of, tmp_path, program):
    ran = record(
        "import torch._export, torch._inductor\n"
        + NET
        + "net.eval()\n"
        + textwrap.dedent(program)
        + "print(torch.equal(package(x), net(x)), package(x).requires_grad)"
    )
    assert ran.text == "True False\n", ran.errors
    packaged = [each for each in ran.cases if [p.name for p in each.paths] == ["aoti"]]
    assert len(packaged) == 1 and packaged[0].region["replay"] is None
    # A package computes without gradients.
    assert not any("requires_grad" in each for each in case_of(packaged[0])["inputs"].values())
    assert not list(tmp_path.glob("*.pt2"))


def test_settings_of_a_package_become_a_path_file(record):
    ran = record(
        "import torch._inductor\n"
        + NET
        + "program = torch.export.export(net.eval(), (x,))\n"
        + "torch._inductor.aoti_compile_and_package(program, "
        "inductor_configs={'max_fusion_size': 1, 'aot_inductor.package': True})"
    )
    (path,) = ran.only().paths
    assert (path.name, path.file["above"], path.file["export"]) == (
        "model-aoti", "aoti", "aot_inductor"
    )  # fmt: skip
    assert path.file["config"] == {"torch._inductor.config.max_fusion_size": 1}


def test_what_cannot_be_packaged_fails_as_it_would_without_us(record):
    ran = record("import torch._inductor\ntorch._inductor.aoti_compile_and_package(3)")
    assert ran.status == 1 and "Only ExportedProgram is supported" in ran.errors
