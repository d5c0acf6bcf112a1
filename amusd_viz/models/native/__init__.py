"""A Llama-shaped model in C, compiled on the user's machine at first use: no torch in ``library``."""
