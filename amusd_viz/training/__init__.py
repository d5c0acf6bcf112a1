"""Make a draft of one's own: generate what the target writes, distil it into fewer layers."""
