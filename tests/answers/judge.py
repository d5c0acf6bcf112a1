def judge(window, choices):
    committed = []
    for proposal, choice in zip(window, choices, strict=False):
        committed.append(choice)
        if proposal != choice:
            return committed  # the correction: everything behind it is dead
    return committed + [choices[len(window)]]  # the bonus
