"""The explorer under the widget manager of VS Code's Jupyter extension.

The manager is VS Code's own (npm: ``@vscode/jupyter-ipywidgets8``, with require.js as there), in
JupyterLab's page instead of VS Code's: the way VS Code carries messages is no part of this.
"""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.explorerpage import CELLS, drawn_weights, softmax, wait_for_choice, write_notebook
from tests.labdriver import until

pytestmark = pytest.mark.browser

SOURCES = [  # JupyterLab shows no explorer, so that the one on the page is VS Code's
    CELLS[0],
    f"{CELLS[1]}.model_id",
    CELLS[2],
    "explorer.head = 3",
]

# A connection and a box of its own, over everything else.  What VS Code does with the name of a
# widget is to look it up among the nbextensions of the environment.
START = """async code => {
    const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    (await import(url)).activate();
    vscIPyWidgets8.load();
    const {model} = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const kernel = jupyterapp.serviceManager.kernels.connectTo({model, handleComms: true});
    await kernel.info;
    const box = Object.assign(document.createElement("div"), {id: "vscode"});
    box.style = "position: fixed; inset: 0; z-index: 100000; overflow: auto; background: white";
    document.body.append(box);
    window.complaints = [];
    const loader = {
        widgetsRegisteredInRequireJs: new Set(),
        loadWidgetScript: async (name) =>
            requirejs.config({paths: {[name]: `/nbextensions/${name}/index`}}),
        errorHandler: (...all) => complaints.push(all.map(String).join(" ")),
        successHandler: () => {},
    };
    window.manager = new vscIPyWidgets.WidgetManager(kernel, box, loader, () => {});
}"""
SHOW = """async id => {
    const view = await manager.create_view(await manager.get_model(id));
    await manager.display_view(null, view, {node: document.getElementById("vscode")});
}"""


@pytest.fixture
def files():
    """The folder that holds VS Code's manager and require.js."""
    folder = Path(os.environ.get("COURSE_VSCODE_WIDGETS") or "nowhere")
    if not all((folder / name).is_file() for name in ("ipywidgets.js", "require.js")):
        pytest.skip(
            "COURSE_VSCODE_WIDGETS names no folder with ipywidgets.js and require.js: .ci/run "
            "fetches them with npm, from @vscode/jupyter-ipywidgets8 and requirejs"
        )
    return folder


def test_live_under_vs_codes_manager(files, page, lab):
    anywidget = Path(sys.prefix, "share/jupyter/nbextensions/anywidget/index.js")
    page.route("**/nbextensions/anywidget/index.js", lambda route: route.fulfill(path=anywidget))
    lab.open(page, write_notebook(lab, SOURCES, "vscode.ipynb"))
    lab.run(page, 0)
    page.add_script_tag(path=files / "require.js")
    page.evaluate(START, (files / "ipywidgets.js").read_text(encoding="utf-8"))
    lab.run(page, 1)
    (model,) = re.findall(r"'(\w+)'", lab.output_of(page, ".model_id").inner_text())
    page.wait_for_function("id => manager.has_model(id)", arg=model)  # it has its own connection
    page.evaluate(SHOW, model)
    page.wait_for_selector("#vscode .ax[data-drawn]")
    assert page.locator(".ax").count() == 1
    weights = softmax(3, 4, 20, 20)
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 0]).max() <= 1 / 255

    # The page chooses, a cell reads; a cell chooses, the page follows.
    head = page.locator(".ax-pick", has_text=re.compile("^Head")).locator("select")
    head.select_option("2")
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 2]).max() <= 1 / 255
    wait_for_choice(page, lab, "0 2 None None")
    lab.run(page, 3)
    until(page, lambda: head.input_value() == "3", "the page never showed the cell's choice")
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 3]).max() <= 1 / 255
    assert page.evaluate("complaints") == []
    assert page.outside == []
    assert page.errors == []
