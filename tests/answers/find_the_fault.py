# The correction at 104 ms killed branch 0; the verification that starts behind the rollback judges it.
answer = 23
