def synchronous_speedup(acceptance, proposals, ratio):
    tokens = sum(acceptance**i for i in range(proposals + 1))
    return tokens / (1 + proposals * ratio)
