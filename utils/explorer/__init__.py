"""The attention explorer.  Examples for every view: README.md beside this file."""

from .explorer import AttentionExplorer
from .measures import head_distance, head_entropy, rollout

__all__ = ["AttentionExplorer", "head_distance", "head_entropy", "rollout"]
