answer = "as fast, with more doomed work"
