"""The exercises, by topic: decoding (notebook 01), speculation (02), asynchrony (03), scheduling (04)."""
