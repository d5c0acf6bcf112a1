"""The options that name models and devices, worded once for every command."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Pair = Annotated[str | None, typer.Option(help="Draft and target by one short name.")]
Draft = Annotated[str | None, typer.Option(help="Draft model: a name or a path.")]
Target = Annotated[str | None, typer.Option(help="Target model: a name or a path.")]
Speculator = Annotated[
    str | None, typer.Option(help="Folder of the target's token/embedding speculator.")
]
Device = Annotated[str | None, typer.Option(help="Such as cpu:0, cpu:0-3 or cuda:0.")]
Dtype = Annotated[
    str | None,
    typer.Option(help="bf16, fp32 or fp16; by default bf16 where a kernel computes in it."),
]


def given(
    *, pair: str | None = None, draft: str | None = None, target: str | None = None, **more: Any
) -> dict[str, Any]:
    """The settings that were given, as the engine takes them, which knows the others' defaults.

    Raises:
        typer.BadParameter: both a pair and one of its models are named.
    """
    if pair and (draft or target):
        raise typer.BadParameter("--pair names both models; leave out --draft and --target")
    named = {"pair": pair, "draft": draft, "target": target} | more
    return {name: value for name, value in named.items() if value is not None}
