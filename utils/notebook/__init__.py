"""What lives in a notebook's cells: live figures, sources, the table of contents."""

from utils.notebook.cells import play, show_source
from utils.notebook.contents import Contents
from utils.notebook.scene_editor import SceneEditor

__all__ = [
    "Contents",
    "SceneEditor",
    "play",
    "show_source",
]
