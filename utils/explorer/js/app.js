// The explorer's state: what is chosen, what the painters ask of it, how it follows the kernel.
// @ts-check

import { themeOf } from "./colours.js";
import { label, make } from "./pieces.js";
import { fillTable } from "./words.js";

const ANEW = ["view", "sort", "all_heads", "difference"]; // another one is another layout
const TRAITS = [...ANEW, "layer", "head", "token", "key", "threshold"];

const SHORTCUTS =
  "Tab goes from part to part; arrow keys move over heads, cells, patches and tokens, Enter chooses " +
  "and lets go; Page Up and Page Down change the layer, [ and ] the head; Escape lets go of the " +
  "token, and once more leaves the explorer.";

// What stays on the page, from the title to the table; the painters fill the stage.
/** @param {App} app @param {string} text */
export function layOut(app, text) {
  const title = make("div", { className: "ax-title", hidden: !text }, text || "");
  const bar = make("div", { className: "ax-bar" }), stage = make("div", { className: "ax-stage" });
  const sentence = make("div", { className: "ax-sentence", role: "status", "aria-live": "polite" });
  const note = make("div", { className: "ax-note" });
  const tip = make("div", { className: "ax-tip", hidden: true });
  const table = make(
    "details",
    { className: "ax-table" },
    make("summary", {}, "The weights as a table, and keyboard shortcuts"),
    make("p", {}, SHORTCUTS),
    make("div", { className: "ax-scroll", tabIndex: 0, role: "region", "aria-label": "The weights as a table" }),
  );
  app.root.append(title, bar, stage, sentence, note, table, tip);
  table.addEventListener("toggle", () => fillTable(app));
  app.parts = { bar, stage, sentence, note, tip, table };
}

// What painters ask of the explorer.
/** @param {App} app */
export function serve(app) {
  const { state } = app;
  // The row and column of one panel that are meant: a number means the words of its own panel, and
  // no other's.
  const meant = (index, at) => {
    const same = app.panels[index].tokens === app.panels[at.panel].tokens;
    return same ? { q: at.q, k: at.k } : { q: null, k: null };
  };
  app.chosen = (index) => meant(index, { panel: state.panel, q: state.token, k: state.key });
  app.mark = (index) => (app.hover ? meant(index, app.hover) : app.chosen(index)); // to highlight
  app.partner = (index) => { // whose weights are subtracted
    const { partner, compared } = app.panels[index];
    const asked = state.difference && state.view === "heatmap";
    return asked && partner != null && !compared ? app.panels[partner] : null;
  };
  app.count = (index, drawn, all) => { app.counts[index] = [drawn, all]; };
  app.framed = (panel, ...nodes) => {
    if (!panel.name) return make("div", { className: "ax-figure" }, ...nodes);
    const other = app.partner(app.panels.indexOf(panel));
    const text = label(panel.name, 40) + (other ? ` − ${label(other.name, 40)}` : "");
    const name = make("div", { className: "ax-name" });
    app.namers.push(() => { // a block with fewer layers or heads shows its last
      const { layer, head } = panel.at(state), all = state.view === "lines" && state.all_heads;
      const grid = nodes.some((node) => node.matches("[aria-roledescription='grid of heads']"));
      const same = grid || (layer === state.layer && (all || head === state.head));
      name.textContent = same ? text : `${text}: layer ${layer}, ${all ? "all heads" : `head ${head}`}`;
    });
    return make("div", { className: "ax-figure" }, name, ...nodes);
  };
  app.focus = () => { // the panel that is spoken of: pictures show the first one, or the rollout
    if (state.view === "image" || state.view === "words") {
      return state.view === "image" && state.panel === app.flow ? app.flow : 0;
    }
    const { partner } = app.panels[state.panel];
    // What is subtracted has no picture of its own.
    if (partner != null && app.partner(partner) === app.panels[state.panel]) return partner;
    return state.panel === app.flow ? 0 : state.panel;
  };
  // Whoever chooses a head wants to see it, not the rollout of all heads.
  app.choose = (name, value) => app.set({
    [name]: value,
    ...(name === "head" && state.panel === app.flow ? { panel: 0 } : {}),
  });
  app.set = (changes) => {
    app.parts.tip.hidden = true; // its number may be another one now
    const { M, N } = app.panels[changes.panel ?? state.panel];
    changes = { token: state.token, key: state.key, ...changes };
    if (changes.token >= M) changes.token = null; // a shorter block has no such token
    if (changes.key >= N) changes.key = null;
    for (const [name, value] of Object.entries(changes)) {
      if (state[name] === value) continue;
      state[name] = value;
      if (name === "panel") app.model.set("block", app.panels[Number(value)].name);
      else if (TRAITS.includes(name)) app.model.set(name, value);
    }
    app.model.save_changes();
    app.update(ANEW.some((name) => name in changes));
  };
}

// Read the theme's colours once, for all painters; they are there once the view is on the page.
/** @param {App} app */
export function dress(app) {
  const { root } = app;
  app.theme = themeOf();
  root.dataset.theme = app.theme;
  const style = getComputedStyle(root), colour = (name) => style.getPropertyValue(`--ax-${name}`).trim();
  app.colours = Object.fromEntries(
    ["ink", "quiet", "edge", "accent", "line", "gold", "veil", "hatch", "spot"]
      .map((name) => [name, colour(name)]),
  );
}

/** @param {App} app */
export function readTraits(app) {
  const { model, state } = app;
  for (const name of TRAITS) state[name] = model.get(name);
  state.panel = named(app, model.get("block"));
  const { M, N } = app.panels[state.panel]; // of a shorter block the kernel will let go of them too
  if (state.token >= M) state.token = null;
  if (state.key >= N) state.key = null;
}

// Follow the traits that a cell sets; returns how to stop.
/** @param {App} app */
export function listen(app) {
  const { model, state } = app;
  const follow = () => {
    const before = { ...state }, changed = (name) => state[name] !== before[name];
    readTraits(app);
    if (!Object.keys(state).some(changed)) return; // it was we who set it
    app.hover = null;
    app.parts.tip.hidden = true;
    app.update(ANEW.some(changed));
  };
  for (const name of [...TRAITS, "block"]) model.on(`change:${name}`, follow);
  return () => { for (const name of [...TRAITS, "block"]) model.off(`change:${name}`, follow); };
}

/** @param {App} app @param {string} name */
export const named = (app, name) => Math.max(0, app.panels.findIndex((panel) => panel.name === name));
