"""How fast is each way of decoding here? Side by side, prompt by prompt, as ratios with intervals."""

from amusd_viz.bench.prompts import Prompt, load_prompts
from amusd_viz.bench.report import MethodReport, Ratio, Report
from amusd_viz.bench.run import Benchmark
from amusd_viz.bench.ways import WAYS, parse_ways

__all__ = [
    "WAYS",
    "Benchmark",
    "MethodReport",
    "Prompt",
    "Ratio",
    "Report",
    "load_prompts",
    "parse_ways",
]
