// The bar of choices above the picture, and the legend below it.
// @ts-check

import { HEAD_COLOURS, RAMP, SPLIT } from "./colours.js";
import { limit, make } from "./pieces.js";

const NAMES = { heatmap: "Heatmap", lines: "Lines", heads: "All heads", image: "Picture", words: "Words" };

// The bar of choices; `app.controls` brings it in line with the state.
/** @param {App} app */
export function makeControls(app) {
  const { state } = app;
  const layers = Math.max(...app.panels.map((p) => p.L));
  const heads = Math.max(...app.panels.map((p) => p.H));
  const group = `ax${Math.random().toString(36).slice(2)}`;
  const views = Object.keys(NAMES).filter((view) => app.grid || (view !== "image" && view !== "words"));
  const tabs = make("div", { className: "ax-views", role: "radiogroup", "aria-label": "View" });
  for (const view of views) {
    const onchange = () => app.set({ view });
    const radio = make("input", { type: "radio", name: group, value: view, onchange });
    tabs.append(make("label", {}, radio, make("span", {}, NAMES[view])));
  }
  const pick = (name, text, count) => {
    const select = make("select", { onchange: () => app.choose(name, Number(select.value)) });
    select.append(...[...Array(count).keys()].map((i) => make("option", { value: i }, String(i))));
    return { select, node: make("label", { className: "ax-pick", hidden: count < 2 }, text, select) };
  };
  const layerPick = pick("layer", "Layer", layers), headPick = pick("head", "Head", heads);
  const sortSelect = make("select", { onchange: () => app.set({ sort: sortSelect.value }) });
  const sorts = { layer: "layer", entropy: "entropy (sharp first)", distance: "distance (near first)" };
  for (const [value, text] of Object.entries(sorts)) sortSelect.append(make("option", { value }, text));
  const sortPick = make("label", { className: "ax-pick" }, "Sort by", sortSelect);
  const slider = make("input", { type: "range", min: 0, max: Math.max(0.5, state.threshold), step: 0.005 });
  slider.oninput = () => app.set({ threshold: Number(slider.value) });
  const shownAt = make("output");
  const thresholdPick = make("label", { className: "ax-pick" }, "Hide under", slider, shownAt);
  const box = (name, text) => {
    const input = make("input", { type: "checkbox", onchange: () => app.set({ [name]: input.checked }) });
    return { input, node: make("label", { className: "ax-pick" }, input, text) };
  };
  const allHeads = box("all_heads", "All heads"), difference = box("difference", "Difference");
  app.parts.bar.append(tabs, layerPick.node, headPick.node, sortPick, thresholdPick);
  app.parts.bar.append(allHeads.node, difference.node);
  app.comparable = app.panels.some((p) => p.partner != null);

  app.controls = () => {
    for (const radio of tabs.querySelectorAll("input")) radio.checked = radio.value === state.view;
    layerPick.select.value = String(state.layer);
    headPick.select.value = String(state.head);
    sortSelect.value = state.sort;
    slider.max = String(Math.max(Number(slider.max), state.threshold)); // a cell may set more
    slider.value = String(state.threshold);
    headPick.node.hidden = heads < 2 || (state.view === "lines" && state.all_heads);
    shownAt.textContent = String(limit(state.threshold));
    allHeads.input.checked = state.all_heads;
    difference.input.checked = state.difference;
    sortPick.hidden = state.view !== "heads" || layers * heads < 2;
    thresholdPick.hidden = state.view !== "lines";
    allHeads.node.hidden = state.view !== "lines" || heads < 2;
    difference.node.hidden = !app.comparable || state.view !== "heatmap";
  };
}

/** @param {App} app */
export function legend(app) {
  const { state } = app;
  const sample = (kind, text) =>
    make("span", { className: "ax-key" }, make("i", { className: `ax-key-${kind}` }), text);
  const gold = app.panels.some((p) => p.gold.length)
    ? [sample(state.view === "lines" ? "dash" : "gold", "gold link")]
    : [];
  if (state.view === "lines" && !state.all_heads) {
    return gold.length ? [make("div", { className: "ax-legend" }, ...gold)] : null;
  }
  if (state.view === "lines") {
    const chips = [...Array(Math.max(...app.panels.map((p) => p.H))).keys()].map((head) => {
      const onclick = () => app.set({ head, all_heads: false });
      const dot = make("i", { style: `background: ${HEAD_COLOURS[head % 12]}` });
      return make("button", { type: "button", className: "ax-chip", onclick }, dot, `head ${head}`);
    });
    const again = chips.length > 12 ? [make("span", {}, "(colours repeat after 12 heads)")] : [];
    return [make("div", { className: "ax-legend ax-chips" }, ...chips, ...again, ...gold)];
  }
  if (!["heatmap", "heads"].includes(state.view)) return null;
  const split = app.panels.map((_, i) => app.partner(i)).filter(Boolean); // what is subtracted
  const plain = app.panels.some((panel, i) => i !== app.flow && !app.partner(i) && !split.includes(panel));
  const masked = app.panels.some((p) => p.mask?.includes(0)) ? [sample("mask", "masked: may not look")] : [];
  return [make(
    "div",
    { className: "ax-legend" },
    ...(plain ? scaleOf(app, false) : []),
    ...(split.length ? scaleOf(app, true) : []),
    ...masked,
    ...gold,
  )];
}

// A strip of the colours with its ticks: of weights, or of differences.
/** @param {App} app @param {boolean} split */
function scaleOf(app, split) {
  const strip = make("div", { className: "ax-strip" });
  strip.style.background = `linear-gradient(to right, ${(split ? SPLIT : RAMP)[app.theme].join(",")})`;
  const ticks = split ? [-1, -0.25, 0, 0.25, 1] : [0, 0.05, 0.25, 0.5, 1];
  const scale = make("div", { className: "ax-ticks" }, ...ticks.map((tick) => {
    const at = split ? 50 + 50 * Math.sign(tick) * Math.sqrt(Math.abs(tick)) : 100 * Math.sqrt(tick);
    const mark = make("span", {}, String(tick).replace("-", "−"));
    mark.style.left = `${at}%`;
    return mark;
  }));
  return [
    make("span", {}, split ? "weight minus the other's" : "weight"),
    make("div", { className: "ax-scale" }, strip, scale),
  ];
}
