"""One module or package per notebook, `nb03` for notebook 03, each with a list ``ITEMS``."""
