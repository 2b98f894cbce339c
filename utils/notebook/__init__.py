"""What lives in a notebook's cells: live figures, sources, the table of contents."""

from utils.notebook.cells import play, show_source
from utils.notebook.contents import Contents
from utils.runtime import get_device, set_seed

__all__ = ["Contents", "SceneEditor", "get_device", "play", "set_seed", "show_source"]


def __getattr__(name: str):
    """The scene editor is made of widgets, which only the notebook that shows it shall load."""
    if name == "SceneEditor":
        from utils.notebook.scene_editor import SceneEditor

        return SceneEditor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
