"""Who proposes what, what is accepted, when a branch dies: a state machine without clock or I/O.

Asynchronous (AMUSD), synchronous and autoregressive decoding are three ways to drive the same two
sides. Standard library only; this package imports nothing else of ours.
"""

from amusd_viz.protocol.adaptive_run_ahead import AdaptiveRunAhead
from amusd_viz.protocol.adaptive_window import AdaptiveWindow
from amusd_viz.protocol.cache_plan import CachePlan, plan_cache
from amusd_viz.protocol.draft import Adoption, DraftSide, Pause
from amusd_viz.protocol.messages import Commit, Dropped, Fate, Proposal
from amusd_viz.protocol.policies import (
    Confidence,
    ConstantRunAhead,
    Fixed,
    RunAheadPolicy,
    TakeTurns,
    WindowPolicy,
)
from amusd_viz.protocol.policy_names import window_policy
from amusd_viz.protocol.prompt_lookup import look_up
from amusd_viz.protocol.target import Extra, Finish, Step, TargetSide, Verdict, Window
from amusd_viz.protocol.tree import ROOT, Tree

__all__ = [
    "ROOT",
    "AdaptiveRunAhead",
    "AdaptiveWindow",
    "Adoption",
    "CachePlan",
    "Commit",
    "Confidence",
    "ConstantRunAhead",
    "DraftSide",
    "Dropped",
    "Extra",
    "Fate",
    "Finish",
    "Fixed",
    "Pause",
    "Proposal",
    "RunAheadPolicy",
    "Step",
    "TakeTurns",
    "TargetSide",
    "Tree",
    "Verdict",
    "Window",
    "WindowPolicy",
    "look_up",
    "plan_cache",
    "window_policy",
]
