"""The figures of the course, one line each in a notebook."""

from utils.figures.captions import plot_footprints, plot_looks, plot_scenes, plot_shares
from utils.figures.heads import plot_live_bars
from utils.figures.images import plot_images, plot_overlays, plot_patches, plot_similarities
from utils.figures.masks import Stage, plot_mask_lab
from utils.figures.plots import plot_arcs, plot_attention, plot_bars, plot_curves, plot_heads
from utils.figures.positions import plot_tables, plot_turn
from utils.figures.results import plot_results, read_results
from utils.figures.rnn import plot_dependencies, plot_min_steps, plot_pieces, plot_receptive_field
from utils.figures.steppers import plot_scores_step
from utils.figures.transformer import plot_architecture, plot_norms

__all__ = [
    "Stage",
    "plot_architecture",
    "plot_arcs",
    "plot_attention",
    "plot_bars",
    "plot_curves",
    "plot_dependencies",
    "plot_footprints",
    "plot_heads",
    "plot_images",
    "plot_live_bars",
    "plot_looks",
    "plot_mask_lab",
    "plot_min_steps",
    "plot_norms",
    "plot_overlays",
    "plot_patches",
    "plot_pieces",
    "plot_receptive_field",
    "plot_results",
    "plot_scenes",
    "plot_scores_step",
    "plot_shares",
    "plot_similarities",
    "plot_tables",
    "plot_turn",
    "read_results",
]
