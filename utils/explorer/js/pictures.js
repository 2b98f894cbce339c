// The views "image" and "words": a picture under the attention of a token, or of each word.
// @ts-check

import { clamp, fit, label, make, scratch, word } from "./pieces.js";
import { threeDecimals } from "./weights.js";
import { attachCells } from "./hands.js";

// The picture, dark where a patch gets nothing and clear where it gets the most.
/** @param {CanvasRenderingContext2D} pen @param {App} app @param {Panel} panel @param {Uint16Array} row */
function veil(pen, app, panel, row, width, height) {
  const [rows, columns] = app.grid, patches = row.subarray(panel.N - rows * columns);
  pen.imageSmoothingEnabled = app.picture.width > 64; // the pixels of a tiny picture stay pixels
  pen.drawImage(app.picture, 0, 0, width, height);
  let most = 0;
  for (const step of patches) most = Math.max(most, step);
  const cover = scratch(columns, rows), image = new ImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    image.data[i * 4 + 3] = 196 * (1 - Math.sqrt(patches[i] / (most || 1)));
  }
  cover.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(cover, 0, 0, width, height);
  return most / panel.top;
}

/** @param {CanvasRenderingContext2D} pen @param {App} app @param {number} patch */
function outline(pen, app, patch, width, height, colour) {
  const [rows, columns] = app.grid, [w, h] = [width / columns, height / rows];
  const [x, y] = [(patch % columns) * w, Math.floor(patch / columns) * h];
  pen.lineWidth = 3.5;
  pen.strokeStyle = "#000";
  pen.strokeRect(x, y, w, h);
  pen.lineWidth = 1.75;
  pen.strokeStyle = colour;
  pen.strokeRect(x, y, w, h);
}

// One small picture with a name under it, as a button.
function thumbnail(size, ratio, press) {
  const side = Math.max(1, Math.round(Math.min(size, (2 * size) / ratio))); // a tall picture is narrow
  const canvas = make("canvas"), name = make("bdi", { className: "ax-word" }), most = make("small");
  const tall = Math.max(1, Math.round(side * ratio)), pen = fit(canvas, side, tall);
  const node = make("button", { type: "button", className: "ax-thumb", onclick: press }, canvas, name, most);
  return { node, canvas, pen, name, most, side, tall };
}

/** @param {App} app @param {ReturnType<typeof thumbnail>} thumb @param {Panel} panel @param {Uint16Array} row */
function drawSmall(app, { node, pen, name, most, side, tall }, panel, row, text, pressed) {
  most.textContent = threeDecimals(veil(pen, app, panel, row, side, tall));
  name.textContent = text;
  node.setAttribute("aria-pressed", String(pressed));
}

/** @param {App} app @param {number} room */
export function imageView(app, room) {
  const panel = app.panels[0], [rows, columns] = app.grid, extra = panel.N - rows * columns;
  const looksAtItself = panel.keys === panel.queries, { flow } = app;
  const aspect = app.picture.height / app.picture.width;
  const wide = Math.max(1, Math.round(Math.min(room, 400, 560 / aspect)));
  const tall = Math.max(1, Math.round(wide * aspect));
  const role = { role: "application", "aria-roledescription": "picture under attention" };
  const canvas = make("canvas", { tabIndex: 0, className: "ax-canvas", ...role });
  const pen = fit(canvas, wide, tall);
  const query = () => app.chosen(0).q ?? 0;
  const chips = make("div", { className: "ax-chips" });
  const free = looksAtItself ? extra : panel.M;
  for (let q = 0; q < free; q++) {
    const onclick = () => app.set({ token: q, key: null, panel: app.focus() });
    const name = make("bdi", {}, label(panel.queries[q]));
    chips.append(make("button", { type: "button", className: "ax-chip", onclick }, name));
  }
  const small = [...Array(panel.H).keys()].map((head) => {
    return thumbnail(84, aspect, () => app.set({ head, panel: 0 }));
  });
  const roll = flow < 0 ? null : thumbnail(84, aspect, () => app.set({ panel: flow }));
  const caption = make("div", { className: "ax-axes" });

  function paint() {
    const s = app.state, q = query(), rolled = s.panel === flow, { layer, head: at } = panel.at(s);
    const shown = rolled ? app.panels[flow] : panel;
    const most = veil(pen, app, shown, shown.row(s.layer, rolled ? 0 : s.head, q), wide, tall);
    if (looksAtItself && q >= extra) outline(pen, app, q - extra, wide, tall, "#fff");
    const k = app.mark(0).k;
    if (k != null && k >= extra) outline(pen, app, k - extra, wide, tall, app.colours.spot);
    caption.replaceChildren(
      word(panel.queries[q]),
      rolled ? ` by rollout up to layer ${layer}` : ` in layer ${layer}, head ${at}`,
      ` · brightest = ${threeDecimals(most)}`,
    );
    small.forEach((item, head) => {
      drawSmall(app, item, panel, panel.row(s.layer, head, q), `head ${head}`, !rolled && head === at);
    });
    const other = app.panels[flow];
    if (roll) drawSmall(app, roll, other, other.row(s.layer, 0, q), "rollout", rolled);
    [...chips.children].forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === q)));
    const what = `Picture of ${rows} by ${columns} patches under the attention of ${label(panel.queries[q])}`;
    const enter = looksAtItself ? ", Enter makes a patch the one that looks" : "";
    canvas.setAttribute("aria-label", `${what}. Arrow keys move over the patches${enter}.`);
  }

  const hit = (x, y) => {
    const c = Math.floor((x / wide) * columns), r = Math.floor((y / tall) * rows);
    return c < 0 || r < 0 || c >= columns || r >= rows ? null : { q: query(), k: extra + r * columns + c };
  };
  const place = (_, k) => ({
    x: (((k - extra) % columns) + 0.5) * (wide / columns),
    y: (Math.floor((k - extra) / columns) + 0.5) * (tall / rows),
  });
  const moved = (move) => {
    const at = (app.state.key ?? extra) - extra;
    if (move === "Enter") return looksAtItself ? { token: at + extra, key: at + extra } : null;
    if (!Array.isArray(move)) return null;
    const c = clamp((at % columns) + move[0], 0, columns - 1);
    const r = clamp(Math.floor(at / columns) + move[1], 0, rows - 1);
    return { token: query(), key: app.state.key == null ? extra : extra + r * columns + c };
  };
  const clicked = (at) => {
    if (looksAtItself) return { token: at.k, key: null };
    return { token: at.q, key: app.state.key === at.k ? null : at.k };
  };
  attachCells(app, canvas, () => app.focus(), hit, place, moved, clicked);
  const all = [...small, ...(roll ? [roll] : [])].map((item) => item.node);
  const gallery = make("div", { className: "ax-gallery" }, ...all);
  const figure = make("div", { className: "ax-figure" }, caption, canvas, chips);
  return { node: make("div", { className: "ax-image" }, figure, gallery), paint, width: room };
}

/** @param {App} app @param {number} room */
export function wordsView(app, room) {
  const panel = app.panels[0], aspect = app.picture.height / app.picture.width;
  const side = room < 480 ? 92 : 124;
  const items = panel.queries.map((_, q) => {
    const toggle = () => app.set({ token: app.chosen(0).q === q ? null : q, key: null, panel: 0 });
    return thumbnail(side, aspect, toggle);
  });
  function paint() {
    const s = app.state;
    items.forEach((item, q) => {
      const name = label(panel.queries[q], 18), row = panel.row(s.layer, s.head, q);
      drawSmall(app, item, panel, row, name, q === app.chosen(0).q);
    });
  }
  const gallery = make("div", { className: "ax-gallery" }, ...items.map((item) => item.node));
  const whose = panel.keys === panel.queries ? "token that looks" : "word, in the order they were written";
  const text = `one picture for each ${whose} · the number is the brightest patch's weight`;
  const axes = make("div", { className: "ax-axes" }, text);
  return { node: app.framed(panel, axes, gallery), paint, width: room };
}
