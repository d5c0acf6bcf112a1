from amusd_viz.events import Proposed


def useful_and_doomed(trace):
    useful = doomed = 0.0
    for step in trace.of(Proposed):
        took = (step.end - step.start) / 1e6
        if trace.fates[step.branch, step.position] in ("accepted", "overtaken"):
            useful += took
        else:
            doomed += took
    return useful, doomed
