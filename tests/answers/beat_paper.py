def wait(acceptance, ratio):
    if ratio > 0.25:
        return 0
    return round(acceptance * 0.3 / ratio)
