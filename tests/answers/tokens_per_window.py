def tokens_per_window(acceptance, proposals):
    return sum(acceptance**i for i in range(proposals + 1))
