answer = 1
