// Puts it all together: prepare, show, lay out anew, paint.
// @ts-check

import { themeOf } from "./colours.js";
import { focusOn, make } from "./pieces.js";
import { describePanel, fillPanels, inflate, toBytes } from "./weights.js";
import { heatmap } from "./heatmap.js";
import { lines } from "./lines.js";
import { headGrid } from "./heads.js";
import { imageView, wordsView } from "./pictures.js";
import { attachKeys } from "./hands.js";
import { legend, makeControls } from "./controls.js";
import { fillTable, speak } from "./words.js";
import { dress, layOut, listen, readTraits, serve } from "./app.js";

// Never a blank cell: if something fails, say so.
export async function render({ model, el, prepared = prepare(model) }) {
  try {
    return show(await prepared, model, el);
  } catch (error) {
    const words = `The explorer could not draw the weights (${error}). Run the cell again; ` +
      "if that does not help, try a newer browser.";
    el.replaceChildren(make("div", { className: "ax" }, words));
    throw error;
  }
}

// Lay out the view anew: the painters for this width and these colours.
/** @param {App} app */
function build(app) {
  dress(app);
  const { state } = app, { stage, tip } = app.parts;
  app.laidOut = app.root.clientWidth;
  const room = Math.max(220, app.laidOut - 12); // paddings
  const shown = [...app.panels.keys()].filter((i) => i !== app.flow);
  const subtracted = shown.filter((i) => app.partner(i)).map((i) => app.panels[i].partner);
  const beside = shown.filter((i) => !subtracted.includes(i));
  const fits = Math.floor((room + 24) / 344), each = Math.min(beside.length, Math.max(1, fits));
  const share = Math.floor((room - 24 * (each - 1)) / each);
  app.figures = [];
  app.namers = [];
  app.counts = [];
  app.hover = null; // what was pointed at is gone
  tip.hidden = true;
  if (state.view === "heatmap") app.figures = beside.map((i) => heatmap(app, i, share));
  else if (state.view === "lines") app.figures = shown.map((i) => lines(app, i, Math.min(share, 560)));
  else if (state.view === "heads") {
    for (const i of shown) {
      const grid = headGrid(app, i, room >= 900 ? Math.min(room - 440, 700) : room);
      app.figures.push(grid, heatmap(app, i, room >= 900 ? room - grid.width - 30 : room));
    }
  } else app.figures = [state.view === "image" ? imageView(app, room) : wordsView(app, room)];
  stage.replaceChildren(...app.figures.map((figure) => figure.node), ...(legend(app) || []));
  stage.dataset.view = state.view;
}

/** @param {App} app */
function paintAll(app) {
  for (const name of app.namers) name(); // first: a name pushes its figure down
  for (const figure of app.figures) figure.paint();
  speak(app);
  app.root.dataset.drawn = String(Number(app.root.dataset.drawn || 0) + 1);
}

// Paint with the next frame, however many changes come until then.
/** @param {App} app @param {boolean} [rebuild] */
export function update(app, rebuild = false) {
  app.again ||= rebuild;
  if (app.waiting) return;
  app.waiting = requestAnimationFrame(() => {
    app.waiting = 0;
    app.missed = !app.root.clientWidth; // not on the page, or hidden: `watch` sees when that ends
    if (app.missed) return;
    const focused = app.again && app.parts.stage.contains(document.activeElement);
    if (app.again) build(app);
    app.again = false;
    app.controls();
    paintAll(app);
    fillTable(app);
    if (focused) refocus(app);
  });
}

// What had the focus is gone: its place has it now, so that keys go on.
/** @param {App} app */
function refocus(app) {
  const { stage } = app.parts;
  app.placing = true; // not a student's Tab
  focusOn(stage.querySelector(".ax-chosen") || stage.querySelector("[tabindex='0'], button"), true);
  app.placing = false;
}

// Follow the page's theme and width; returns how to stop.
/** @param {App} app */
function watch(app) {
  const redress = () => { if (themeOf() !== app.theme) app.update(true); };
  const watcher = new MutationObserver(redress);
  for (const node of [document.body, document.documentElement]) watcher.observe(node, { attributes: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", redress);
  const resized = new ResizeObserver(() => {
    const width = app.root.clientWidth;
    if (width && (app.missed || Math.abs(width - app.laidOut) > 4)) app.update(true);
  });
  resized.observe(app.root);
  return () => {
    watcher.disconnect();
    resized.disconnect();
    scheme.removeEventListener("change", redress);
  };
}

// All that needs no place on the page: a notebook begins with it while its kernel is still at work.
/** @param {Model} model */
export async function prepare(model) {
  const raw = inflate(toBytes(model.get("data"))); // meanwhile the rest is made
  raw.catch(() => {}); // `await` complains
  const meta = model.get("meta");
  const root = make("div", { className: "ax" });
  // Keys typed here are ours, not JupyterLab's. Notebook 7 asks the very element that has the focus.
  const keep = (node) => node.setAttribute("data-lm-suppress-shortcuts", "true");
  keep(root);
  root.addEventListener("focusin", (event) => keep(event.target));
  const panels = meta.panels.map(describePanel), state = {}, hover = null;
  const flow = panels.findIndex((panel) => panel.flow); // the rollout, for pictures only
  /** @type {App} */
  const app = /** @type {any} */ ({ model, root, grid: meta.grid, panels, flow, state, hover });
  readTraits(app);
  layOut(app, meta.title);
  serve(app);
  app.update = (rebuild) => update(app, rebuild);
  attachKeys(app);
  makeControls(app);
  fillPanels(app.panels, new Uint8Array(await raw));
  if (meta.grid) app.picture = await picture(toBytes(model.get("picture")));
  return app;
}

/** @param {App} app @param {Model} model @param {HTMLElement} el */
export function show(app, model, el) {
  app.model = model; // a notebook has another one for each view
  readTraits(app); // a cell may have set some since
  app.controls();
  el.append(app.root);
  const stops = [watch(app), listen(app)];
  if (app.root.clientWidth) {
    build(app);
    paintAll(app);
  } else app.update(true); // notebooks put a view on the page only when it is made
  return () => {
    for (const stop of stops) stop();
    cancelAnimationFrame(app.waiting);
    app.root.remove();
  };
}

export const picture = (bytes) => createImageBitmap(new Blob([bytes], { type: "image/png" }));
