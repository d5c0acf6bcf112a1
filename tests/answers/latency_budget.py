# 0.53 target steps for both ways together, at 25 ms a step.
answer = 0.53 * 25 / 2
