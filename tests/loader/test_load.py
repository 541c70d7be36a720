"""From a model file to a LoadedModel: import, choice, construction, inputs, dynamic dimensions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ptc.loader import LoadedModel, LoadRequest, load, parse_init
from ptc.loader.names import identifier
from ptc.support.diagnostics import CompileError

from .conftest import WriteFile

ROOT = Path(__file__).resolve().parents[2]
NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width=4, depth=1):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

        def forward(self, x, mask=None, *, scale=1.0):
            y = self.layers(x) * scale
            return y if mask is None else y * mask
"""


def load_text(write: WriteFile, text: str, name: str = "", **options: Any) -> LoadedModel:
    path = write(text)
    return load(LoadRequest(f"{path}:{name}" if name else str(path), **options))


def refusal(write: WriteFile, text: str, name: str = "", **options: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        load_text(write, text, name, **options)
    return caught.value


def _defines_one_model(file: Path) -> bool:
    return file.stem != "generate"


@pytest.mark.parametrize(
    "file",
    sorted(filter(_defines_one_model, (ROOT / "sample_models").glob("*.py"))),
    ids=lambda p: p.stem,
)
def test_sample_models_run_as_loaded(file: Path) -> None:
    loaded = load(LoadRequest(str(file)))
    (entry,) = loaded.entries
    assert loaded.name == file.stem and entry.name == "forward"
    assert loaded.source == file
    assert not any(m.training for m in loaded.module.modules())
    with torch.no_grad():
        entry.function(*entry.args, **entry.kwargs)
        args, kwargs = entry.variant(1, {})
        entry.function(*args, **kwargs)


# choosing


def test_the_only_class_is_taken(write: WriteFile) -> None:
    loaded = load_text(write, NET, inputs=("x=f32[2,4]",))
    assert type(loaded.module).__name__ == "Net"


def test_a_factory_is_preferred_to_what_it_uses(write: WriteFile) -> None:
    text = NET + "\n    def small():\n        net = Net(depth=2)\n        return net.eval()\n"
    loaded = load_text(write, text, inputs=("x=f32[2,4]",))
    assert len(loaded.module.layers) == 2


def test_helpers_and_main_are_no_candidates(write: WriteFile) -> None:
    text = NET + (
        "\n    def count(model):\n        return sum(p.numel() for p in model.parameters())\n"
        "\n    def main():\n        raise RuntimeError('must not run')\n"
    )
    assert load_text(write, text, inputs=("x=f32[2,4]",)).module is not None


def test_an_instance_is_preferred_to_its_class(write: WriteFile) -> None:
    loaded = load_text(write, NET + "\n    model = Net(depth=3)\n", inputs=("x=f32[2,4]",))
    assert len(loaded.module.layers) == 3


def test_a_plain_function(write: WriteFile) -> None:
    loaded = load_text(write, "def add(a, b=2):\n    return a + b\n", inputs=("f32[3]",))
    assert loaded.module is None and loaded.entries[0].name == "add"


def test_a_factory_that_the_source_does_not_show(write: WriteFile) -> None:
    text = "import torch\ndef make():\n    return getattr(torch.nn, 'ReLU')()\n"
    text += "example_inputs = torch.ones(3)\n"
    assert isinstance(load_text(write, text, "make").module, nn.ReLU)


def test_a_dotted_name(write: WriteFile) -> None:
    text = NET + "\n    class zoo:\n        tiny = Net(2)\n"
    assert load_text(write, text, "zoo.tiny", inputs=("x=f32[2,2]",)).module is not None


def test_a_module_by_name() -> None:
    loaded = load(LoadRequest("torch.nn:Linear", parse_init('{"in_features":3, "out_features":2}'),
                              inputs=("f32[1,3]",)))  # fmt: skip
    assert loaded.name == "linear" and isinstance(loaded.module, nn.Linear)


def test_several_candidates_are_listed(write: WriteFile) -> None:
    error = refusal(write, NET + "\n    class Other(nn.Module):\n        pass\n")
    assert error.code == "PTC-L011"
    assert error.diagnostic.notes == ("class Net", "class Other")


@pytest.mark.parametrize(
    "text, name, code",
    [
        ("x = 1", "", "PTC-L010"),
        ("x = 1", "y", "PTC-L012"),
        ("x = 1", "x", "PTC-L013"),
        ("def f(:\n  pass", "", "PTC-L004"),
        ("raise ValueError('mine')", "", "PTC-L005"),
        ("import sys; sys.exit(3)", "", "PTC-L006"),
        ("import not_installed_anywhere", "", "PTC-L007"),
        ("class Own(BaseException): pass\nraise Own('mine')", "", "PTC-L005"),
        ("x = 1\0", "", "PTC-L004"),
    ],
)
def test_bad_files(write: WriteFile, text: str, name: str, code: str) -> None:
    assert refusal(write, text, name).code == code


@pytest.mark.parametrize(
    "target, code",
    [
        ("nowhere/model.py", "PTC-L001"),
        ("", "PTC-L001"),
        ("a" * 5000 + ".py", "PTC-L001"),
        ("model.py", "PTC-L001"),
        ("no_such_package_here.module:Net", "PTC-L003"),
        ("torch.no_such_module:Net", "PTC-L003"),
        ("a b c", "PTC-L002"),
        ("torch.nn:1", "PTC-L002"),
        (str(ROOT / "pyproject.toml"), "PTC-L002"),
        (str(ROOT), "PTC-L001"),
    ],
)
def test_bad_targets(target: str, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        load(LoadRequest(target))
    assert caught.value.code == code


# importing


def test_the_users_error_is_shown_at_its_line(write: WriteFile) -> None:
    path = write("def check():\n    raise ValueError('mine')\n\ncheck()\n")
    with pytest.raises(CompileError) as caught:
        load(LoadRequest(str(path)))
    diagnostic = caught.value.diagnostic
    assert "ValueError: mine" in diagnostic.message
    assert diagnostic.location is not None
    assert (diagnostic.location.file, diagnostic.location.line) == (str(path), 2)
    assert diagnostic.notes == (f"called from {path}:4   check()",)


def test_the_file_is_imported_once(write: WriteFile, tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = f"""
        import helper_of_once
        from torch import nn
        with open({str(log)!r}, "a") as f:
            f.write("x")
        class Net(nn.Module):
            def forward(self, x):
                return x + helper_of_once.own_module().ONE
        ONE = 1
    """
    path = write(text)
    write(
        f"def own_module():\n    import {path.stem}\n    return {path.stem}\n", "helper_of_once.py"
    )
    for _ in range(2):
        load(LoadRequest(str(path), inputs=("f32[1]",)))
    entry = load(LoadRequest(str(path), inputs=("x=f32[1]=1",))).entries[0]
    assert entry.function(*entry.args).item() == 2
    assert log.read_text() == "x"


def test_relative_imports_in_a_package(write: WriteFile) -> None:
    write("", "pack_of_ptc/__init__.py")
    write("", "pack_of_ptc/inner/__init__.py")
    write("WIDTH = 5\n", "pack_of_ptc/settings.py")
    write("DEPTH = 2\n", "pack_of_ptc/inner/sibling.py")
    text = """
        from torch import nn
        from ..settings import WIDTH
        import sibling
        class Net(nn.Linear):
            def __init__(self):
                super().__init__(WIDTH, sibling.DEPTH)
    """
    path = write(text, "pack_of_ptc/inner/model.py")
    loaded = load(LoadRequest(str(path), inputs=("f32[1,5]",)))
    assert type(loaded.module).__module__ == "pack_of_ptc.inner.model"


def test_argparse_at_import_sees_its_defaults(
    write: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["ptc", "compile", "--no-check", "model.py"])
    text = """
        import argparse
        from torch import nn
        parser = argparse.ArgumentParser()
        parser.add_argument("--width", type=int, default=3)
        args = parser.parse_args()
        model = nn.Linear(args.width, 1)
        if __name__ == "__main__":
            raise RuntimeError("must not run")
    """
    assert load_text(write, text, inputs=("f32[1,3]",)).module.in_features == 3
    assert sys.argv[0] == "ptc"


def test_a_file_named_like_a_library_module(write: WriteFile) -> None:
    path = write(NET, "types.py")
    assert load(LoadRequest(str(path), inputs=("f32[1,4]",))).name == "types"
    assert sys.modules["types"].__file__ != str(path)
    del sys.modules["ptc_model_types"]


# constructing


def test_init_arguments(write: WriteFile) -> None:
    loaded = load_text(write, NET, init=parse_init('{"depth": 2}'), inputs=("f32[1,4]",))
    assert len(loaded.module.layers) == 2


@pytest.mark.parametrize(
    "text, options, code, message",
    [
        (NET, {"init": {"height": 2}}, "PTC-L014", "no parameter `height`"),
        (NET.replace("width=4", "width"), {}, "PTC-L014", "needs arguments: `width`"),
        (
            NET.replace("super()", "raise KeyError('k')\n            super()"),
            {},
            "PTC-L015",
            "KeyError",
        ),
        (NET + "\n    model = Net()\n", {"init": {}}, "PTC-L016", "is a model already"),
        ("def f():\n    return 3\n", {"init": {}}, "PTC-L017", "returned a int"),
        (NET, {"inputs": ("y=f32[1]",)}, "PTC-L022", "Net.forward(x, mask=None, *, scale=1.0)"),
        (NET, {}, "PTC-L023", "no inputs are known"),
        (NET, {"entries": ("encode",), "inputs": ("f32[1,4]",)}, "PTC-L051", "no method `encode`"),
        (NET, {"inputs": ("enc:x=f32[1,4]", "x=f32[1,4]")}, "PTC-L051", "not compiled"),
        (NET, {"dtype": "i64"}, "PTC-L050", "not a floating element type"),
        (NET + "\n    example_inputs = lambda: 1 / 0\n", {}, "PTC-L024", "ZeroDivisionError"),
    ],
)
def test_refusals(
    write: WriteFile, text: str, options: dict[str, object], code: str, message: str
) -> None:
    error = refusal(write, text, **options)
    assert error.code == code and message in error.diagnostic.message


@pytest.mark.parametrize("text", ["{", "[1]", "3", "{'a': 1}"])
def test_malformed_init(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_init(text)
    assert caught.value.code == "PTC-L016"


def test_training_mode_is_switched_off_and_said(write: WriteFile) -> None:
    loaded = load_text(write, NET, inputs=("f32[1,4]",))
    assert any("switched to eval()" in note for note in loaded.notes)


def test_random_parameters_are_repeatable(write: WriteFile) -> None:
    path = write(NET)
    one, two = (load(LoadRequest(str(path), inputs=("f32[1,4]",))) for _ in range(2))
    assert torch.equal(one.module.layers[0].weight, two.module.layers[0].weight)


def test_wrappers_are_taken_off(write: WriteFile) -> None:
    text = NET + "\n    model = nn.DataParallel(Net())\n"
    loaded = load_text(write, text, inputs=("f32[1,4]",))
    assert type(loaded.module).__name__ == "Net"


def test_torchscript_is_refused(write: WriteFile) -> None:
    text = NET + "\n    model = torch.jit.trace(nn.ReLU(), torch.ones(1))\n"
    assert refusal(write, text, "model").code == "PTC-L053"


def test_lazy_layers_get_their_sizes(write: WriteFile) -> None:
    text = "import torch\nmodel = torch.nn.LazyLinear(2)\nexample_inputs = torch.ones(1, 7)\n"
    assert load_text(write, text).module.in_features == 7


# inputs


@pytest.mark.parametrize(
    "example, args, kwargs",
    [
        ("torch.ones(1, 4)", 1, []),
        ("(torch.ones(1, 4), torch.ones(4))", 2, []),
        ("{'x': torch.ones(1, 4), 'scale': 2.0}", 1, ["scale"]),
        ("((torch.ones(1, 4),), {'scale': 2.0})", 1, ["scale"]),
        ("lambda: [torch.ones(1, 4)]", 1, []),
        ("lambda: {'mask': torch.ones(4), 'x': torch.ones(1, 4)}", 2, []),
    ],
)
def test_example_inputs(write: WriteFile, example: str, args: int, kwargs: list[str]) -> None:
    (entry,) = load_text(write, NET + f"\n    example_inputs = {example}\n").entries
    assert len(entry.args) == args and list(entry.kwargs) == kwargs
    entry.function(*entry.args, **entry.kwargs)


def test_a_dict_that_is_an_argument(write: WriteFile) -> None:
    text = """
        import torch
        def f(batch):
            return batch["ids"] + 1
        example_inputs = {"ids": torch.ones(2)}
    """
    (entry,) = load_text(write, text, "f").entries
    assert list(entry.args[0]) == ["ids"]


def test_inputs_win_over_the_file(write: WriteFile) -> None:
    text = NET + "\n    example_inputs = torch.ones(1, 4)\n"
    (entry,) = load_text(write, text, inputs=("mask=f32[4]", "x=f32[5,4]", "scale=3")).entries
    assert [tuple(a.shape) for a in entry.args] == [(5, 4), (4,)]
    assert entry.kwargs == {"scale": 3}


def test_nested_inputs_by_path(write: WriteFile) -> None:
    text = "def f(batch, state):\n    return batch['ids'] + state[0] + state[1]\n"
    inputs = ("state[1]=f32[2]", "batch.ids=f32[2]", "state[0]=f32[2]")
    (entry,) = load_text(write, text, inputs=inputs).entries
    assert list(entry.args[0]) == ["ids"] and len(entry.args[1]) == 2
    assert refusal(write, text, inputs=("state[1]=f32[1]",)).code == "PTC-L022"


def test_an_input_from_a_file(write: WriteFile, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((2, 4), 3, np.float32))
    (entry,) = load_text(write, NET, inputs=(f"x=@{tmp_path}/x.npy",)).entries
    assert torch.equal(entry.args[0], torch.full((2, 4), 3.0))


def test_an_unranged_integer_is_said(write: WriteFile) -> None:
    loaded = load_text(write, "def f(i):\n    return i\n", inputs=("i=i64[3]",))
    assert any("`i=i64[3]` has no upper limit" in note for note in loaded.notes)


def test_dtype_converts_parameters_and_examples(write: WriteFile) -> None:
    loaded = load_text(write, NET + "\n    example_inputs = torch.ones(1, 4)\n", dtype="bf16")
    assert loaded.module.layers[0].weight.dtype == torch.bfloat16
    assert loaded.entries[0].args[0].dtype == torch.bfloat16


def test_dtype_converts_inputs_that_are_specified(write: WriteFile) -> None:
    loaded = load_text(write, NET, inputs=("x=f32[2,4]",), dtype="bf16")
    (entry,) = loaded.entries
    assert entry.args[0].dtype == torch.bfloat16
    args, _ = entry.variant(1, {})
    assert args[0].dtype == torch.bfloat16
    assert "the input `x` was converted to bf16" in loaded.notes


def test_an_input_of_an_entry_stands_in_place_of_one_for_all(write: WriteFile) -> None:
    text = """
    import torch
    class Net(torch.nn.Module):
        def forward(self, x): return x
        def encode(self, x): return x + 1
    model = Net()
    """
    inputs = ("x=f32[2]", "encode:x=f32[5]")
    loaded = load_text(write, text, inputs=inputs, entries=("forward", "encode"))
    assert [tuple(entry.args[0].shape) for entry in loaded.entries] == [(2,), (5,)]


def test_entries(write: WriteFile) -> None:
    text = """
        import torch
        from torch import nn
        class Pair(nn.Module):
            def encode(self, x):
                return x * 2
            def decode(self, z, y):
                return z + y
        example_inputs = {"encode": torch.ones(2), "decode": (torch.ones(1), torch.ones(1))}
    """
    loaded = load_text(write, text, entries=("encode", "decode"))
    assert [e.name for e in loaded.entries] == ["encode", "decode"]
    assert len(loaded.entries[1].args) == 2
    loaded = load_text(
        write, text, entries=("encode", "decode"),
        inputs=("encode:x=f32[3]", "decode:z=f32[1]", "decode:y=f32[1]"),
        dynamic=("encode:x:0=n",),
    )  # fmt: skip
    assert loaded.entries[0].args[0].shape == (3,)
    assert loaded.entries[0].dynamic and loaded.entries[1].dynamic is None


# dynamic dimensions and variants


def test_dynamic_dimensions(write: WriteFile) -> None:
    inputs = ("x=f32[3,4]", "mask=f32[3,4]")
    loaded = load_text(write, NET, inputs=inputs, dynamic=("x:0=batch[1..8]", "mask:0=batch"))
    entry = loaded.entries[0]
    assert entry.dynamic is not None and set(entry.dynamic) == {"x", "mask"}
    assert entry.dynamic["mask"][0].upper == 8
    args, _ = entry.variant(3, {"batch": 5})
    assert [tuple(a.shape) for a in args] == [(5, 4), (5, 4)]


@pytest.mark.parametrize(
    "dynamic, code",
    [
        (("y:0=b",), "PTC-L031"),
        (("x:2=b",), "PTC-L031"),
        (("x:0=b", "x:0=c"), "PTC-L031"),
        (("x:0=b", "x:1=b"), "PTC-L032"),
        (("x:0=b[5..9]",), "PTC-L032"),
        (("x:0=b[3..3]",), "PTC-L032"),
        (("x:0=b[",), "PTC-L030"),
    ],
)
def test_bad_dynamic(write: WriteFile, dynamic: tuple[str, ...], code: str) -> None:
    assert refusal(write, NET, inputs=("x=f32[3,4]",), dynamic=dynamic).code == code


def test_variants_stay_within_what_the_example_shows(write: WriteFile) -> None:
    text = """
        import torch
        def f(ids, mask, x, flag):
            return ids
        example_inputs = (torch.tensor([[3, 9, 5]]), torch.ones(1, 3).long(),
                          torch.rand(2, 3), torch.tensor([True, False]))
    """
    (entry,) = load_text(write, text, "f", dynamic=("ids:1=n", "mask:1=n")).entries
    (ids, mask, x, flag), _ = entry.variant(1, {"n": 50})
    assert ids.shape == (1, 50) and set(ids.unique().tolist()) <= set(range(3, 10))
    assert mask.shape == (1, 50) and bool((mask == 1).all())
    assert x.min() >= 0 and x.max() <= 1 and not torch.equal(x, entry.args[2])
    assert flag.tolist() == [True, False]
    again, _ = entry.variant(1, {"n": 50})
    assert torch.equal(ids, again[0])


@pytest.mark.parametrize(
    "name, expected",
    [
        ("DynamicModel", "dynamic_model"),
        ("GPT2LMHeadModel", "gpt2_lm_head_model"),
        ("zoo.tiny-net", "zoo_tiny_net"),
        ("3d", "model_3d"),
        ("Modèle", "mod_le"),
        ("_", "model"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert identifier(name) == expected
