def roll_back(believed, position, committed):
    for offset, token in enumerate(committed):
        at = position + offset
        if at >= len(believed) or believed[at] != token:
            return believed[:at] + committed[offset:]
    return believed
