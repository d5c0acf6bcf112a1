def acceptance(p, q):
    return sum(min(p.get(token, 0.0), q[token]) for token in q)
