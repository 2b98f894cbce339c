// What pointers and keys do: to cells, to tokens, and everywhere.
// @ts-check

import { clamp, focusOn, make, matches, plainKey, reveal, word } from "./pieces.js";
import { difference, signed } from "./weights.js";

// Show, or no longer show, the weight under the pointer.
/** @param {App} app @param {number} index @param {Place} at @param {Function} [place] @param {HTMLElement} [canvas] */
function overCell(app, index, at, place, canvas) {
  const { root, state } = app, { tip } = app.parts;
  app.hover = at && { panel: index, ...at };
  if (at && at.q != null && at.k != null) {
    const panel = app.panels[index], where = place(at.q, at.k);
    const other = app.partner(index);
    tip.replaceChildren(
      word(panel.queries[at.q], 16),
      " → ",
      word(panel.keys[at.k], 16),
      " ",
      make("b", {}, panel.text(state.layer, state.head, at.q, at.k)),
      ...(other ? [` (${signed(difference(panel, other, state, at.q, at.k))})`] : []),
    );
    tip.hidden = false;
    const a = canvas.getBoundingClientRect(), b = root.getBoundingClientRect();
    const x = a.left - b.left + where.x, y = a.top - b.top + where.y;
    tip.style.left = `${clamp(x + 14, 0, Math.max(0, b.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 16}px`;
  } else tip.hidden = true;
  app.update();
}

// A canvas of cells: hover shows, click or keys choose.
/** @param {App} app @param {HTMLElement} canvas */
export function attachCells(app, canvas, panelOf, hit, place, moved, clicked) {
  const { state } = app;
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const moves = { ...arrows, Home: "Home", End: "End", Enter: "Enter" };
  canvas.addEventListener("pointermove", (event) => {
    const at = hit(event.offsetX, event.offsetY);
    if (at?.q !== app.hover?.q || at?.k !== app.hover?.k || app.hover?.panel !== panelOf()) {
      overCell(app, panelOf(), at, place, canvas);
    }
  });
  canvas.addEventListener("pointerleave", () => overCell(app, panelOf(), null));
  canvas.addEventListener("click", (event) => {
    const at = hit(event.offsetX, event.offsetY);
    if (!at) return;
    if (clicked) app.hover = null; // another token looks now
    const again = state.token === at.q && state.key === at.k && app.focus() === panelOf();
    app.set({
      panel: panelOf(),
      ...(clicked ? clicked(at) : again ? { token: null, key: null } : { token: at.q, key: at.k }),
    });
  });
  canvas.addEventListener("keydown", (event) => {
    if (!moves[event.key] || !plainKey(event)) return;
    const next = moved(moves[event.key]);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    app.hover = null;
    app.set({ panel: panelOf(), ...next });
    if (next.token == null) return;
    const box = canvas.closest(".ax-figure"), corner = canvas.getBoundingClientRect();
    const { x, y } = place(next.token, next.key);
    if (box) reveal(box, new DOMRect(corner.x + x - 12, corner.y + y - 12, 24, 24));
  });
}

// A column of tokens: hover or Tab shows, arrows choose, click or Enter chooses and lets go.
/** @param {App} app @param {HTMLElement} list @param {number} index */
export function attachTokens(app, list, index, side) {
  const { state } = app;
  const items = list.children, number = (event) => [...items].indexOf(event.target.closest(".ax-token"));
  const at = (i) => ({ panel: index, q: side === "q" ? i : null, k: side === "k" ? i : null });
  const choose = (i, query) => {
    app.hover = null;
    app.set({ panel: index, token: query ? i : null, key: query ? null : i });
  };
  const toggle = (i) => {
    const chosen = (side === "q" ? state.token : state.key) === i && state.panel === index;
    choose(chosen ? null : i, side === "q");
  };
  const show = (hover) => { app.hover = hover; app.update(); };
  list.addEventListener("pointerover", (event) => { const i = number(event); if (i >= 0) show(at(i)); });
  list.addEventListener("pointerleave", () => show(null));
  list.addEventListener("click", (event) => { const i = number(event); if (i >= 0) toggle(i); });
  list.addEventListener("focusin", (event) => {
    if (!app.placing && matches(event, ":focus-visible")) show(at(number(event)));
  });
  list.addEventListener("focusout", () => { if (app.hover) show(null); });
  list.addEventListener("keydown", (event) => {
    if (!plainKey(event)) return;
    const i = number(event), last = items.length - 1;
    const to = { ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: last }[event.key];
    const across = { ArrowLeft: "queries", ArrowRight: "keys" }[event.key];
    if (event.key === "Enter" || event.key === " ") toggle(i);
    else if (to == null && !across) return;
    else {
      const target = across ? list.parentNode.querySelector(`.ax-${across}`).children : items;
      const next = clamp(across ? i : to, 0, target.length - 1);
      focusOn(target[next]);
      choose(next, across ? across === "queries" : side === "q");
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @type {Record<string, ["layer" | "head", number]>} */
const TURNS = { PageUp: ["layer", -1], PageDown: ["layer", 1], "[": ["head", -1], "]": ["head", 1] };

// The same keys in every view.
/** @param {App} app */
export function attachKeys(app) {
  const { state } = app;
  app.root.addEventListener("keydown", (event) => {
    if (!plainKey(event)) return;
    const paged = event.key.startsWith("Page") ? ", .ax-scroll" : "";
    const typing = matches(event, `select, input[type=range]${paged}`);
    const turn = TURNS[event.key];
    if (event.key === "Escape" && state.token == null && state.key == null) {
      const notebook = app.root.parentElement?.closest("[tabindex]");
      if (notebook) focusOn(notebook);
      else /** @type {HTMLElement} */ (document.activeElement).blur();
    } else if (event.key === "Escape") {
      app.set({ token: null, key: null });
    } else if (turn && !typing) {
      const most = Math.max(...app.panels.map((p) => (turn[0] === "layer" ? p.L : p.H)));
      app.choose(turn[0], clamp(state[turn[0]] + turn[1], 0, most - 1));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
