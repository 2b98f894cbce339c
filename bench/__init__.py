"""Measurements that take too long for the tests: ``python -m bench explorer``."""
