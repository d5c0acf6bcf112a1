answer = 10 + 14 + 14
