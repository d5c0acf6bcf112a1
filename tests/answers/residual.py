def residual(p, q):
    missing = {token: max(0.0, p[token] - q.get(token, 0.0)) for token in p}
    total = sum(missing.values())
    return {token: weight / total for token, weight in missing.items() if weight}
