def plain_loop(next_token, prompt, end, most):
    output = []
    while len(output) < most:
        output.append(next_token(prompt + output))
        if output[-1] == end:
            break
    return output
