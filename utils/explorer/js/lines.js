// The view "lines": queries on the left, keys on the right, a curve for each weight.
// @ts-check

import { HEAD_COLOURS, rgb } from "./colours.js";
import { clamp, fit, label, make, reveal, scratch } from "./pieces.js";
import { loudest, threeDecimals } from "./weights.js";
import { THICK, linesOf, rasterise } from "./raster.js";
import { attachTokens } from "./hands.js";

/** @param {App} app @param {number} index @param {number} room */
export function lines(app, index, room) {
  const panel = app.panels[index], { M, N } = panel, most = Math.max(M, N);
  const step = most > 1000 ? 7 : most > 200 ? 12 : most > 48 ? 14 : 22, every = Math.ceil(10 / step);
  const side = Math.floor(clamp(room * 0.34, 96, 170)), across = clamp(room - 2 * side, 80, 200);
  const height = most * step;
  const canvas = make("canvas", { className: "ax-lines", "aria-hidden": "true" });
  const pen = fit(canvas, across, height), ratio = canvas.width / across;
  const images = {}; // a picture for columns of one pixel, and one for columns of two
  const column = (tokens, part) => {
    const what = part === "queries" ? "Queries: who looks" : "Keys: what is looked at";
    const name = what + (panel.name ? `, ${panel.name}` : "");
    const list = make("div", { className: `ax-tokens ax-${part}`, role: "listbox", "aria-label": name });
    list.append(...tokens.map((token, i) => {
      const title = token.length > 12 ? label(token, 200) : "", tabIndex = i ? -1 : 0;
      const text = make("bdi", { className: i % every ? "ax-crowded" : "" }, label(token, 40));
      const number = make("span", { className: "ax-num" });
      return make("div", { className: "ax-token", tabIndex, title, role: "option" }, text, number);
    }));
    list.style.setProperty("--step", `${step}px`);
    list.style.width = `${side}px`;
    return list;
  };
  const queries = column(panel.queries, "queries"), keys = column(panel.keys, "keys");
  attachTokens(app, queries, index, "q");
  attachTokens(app, keys, index, "k");

  function paint() {
    const s = app.state, mark = app.mark(index), c = app.colours;
    const limit = Math.max(1, Math.round(s.threshold * panel.top * 1e6) / 1e6); // less than a step is no line
    const heads = s.all_heads ? [...Array(panel.H).keys()] : [panel.at(s).head], count = heads.length;
    const one = mark.q != null || mark.k != null; // a chosen token: its own lines only
    const rangeQ = mark.q != null ? [mark.q, mark.q + 1] : [0, M];
    const rangeK = mark.q == null && mark.k != null ? [mark.k, mark.k + 1] : [0, N];
    const thick = new Float32Array(panel.top + 1);
    const least = one ? 0.6 : 0, most = clamp((1.6 * step) / count, 2, THICK);
    for (let v = 1; v <= panel.top; v++) {
      if (v >= limit) thick[v] = Math.max(least, (v / panel.top) * most) * ratio;
    }
    const bundles = heads.map((head, i) => ({
      cells: panel.cells(s.layer, head),
      thick,
      from: rangeQ[0],
      to: rangeQ[1],
      first: rangeK[0],
      last: rangeK[1],
      shift: ((i - (count - 1) / 2) / count) * 0.8 * step * ratio,
      colour: rgb(s.all_heads ? HEAD_COLOURS[head % 12] : c.line),
    }));
    const drawn = bundles.reduce((sum, bundle) => sum + linesOf(bundle, N), 0);
    const coarse = drawn > 4000 ? 2 : 1;
    const sheet = (images[coarse] ||= scratch(Math.ceil(canvas.width / coarse), canvas.height));
    const paper = sheet.getContext("2d"), image = paper.createImageData(sheet.width, sheet.height);
    rasterise(image, bundles, M, N, step * ratio, coarse);
    paper.putImageData(image, 0, 0);
    pen.clearRect(0, 0, across, height);
    pen.drawImage(sheet, 0, 0, across, height);
    const middle = across / 2;
    for (const [q, k] of panel.gold) {
      if (q < rangeQ[0] || q >= rangeQ[1] || k < rangeK[0] || k >= rangeK[1]) continue;
      pen.strokeStyle = c.gold;
      pen.setLineDash([4, 3]);
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(0, (q + 0.5) * step);
      pen.bezierCurveTo(middle, (q + 0.5) * step, middle, (k + 0.5) * step, across, (k + 0.5) * step);
      pen.stroke();
      pen.setLineDash([]);
    }
    // With all heads on the page, a number is that of the head in which it is largest, in its colour.
    const link = (q, k) => {
      const head = loudest(panel, s.layer, heads, q, k);
      const weight = panel.weight(s.layer, head, q, k), told = Math.round(weight * panel.top) >= limit;
      const colour = s.all_heads ? HEAD_COLOURS[head % 12] : "var(--ax-line)";
      return { weight, told, name: s.all_heads ? `h${head} ` : "", colour };
    };
    marks(queries, mark.q, mark.q == null && mark.k != null ? (q) => link(q, mark.k) : null);
    marks(keys, mark.k, mark.q != null ? (k) => link(mark.q, k) : null);
    app.count(index, drawn, (rangeQ[1] - rangeQ[0]) * (rangeK[1] - rangeK[0]) * count);
    const chosen = [mark.q, mark.k].join();
    // What is pointed at can be seen; a reader may have scrolled since.
    if (app.hover || chosen === revealed) return;
    revealed = chosen;
    const item = mark.q != null ? queries.children[mark.q] : keys.children[mark.k];
    if (one) reveal(frame, item.getBoundingClientRect());
  }

  const dressed = [false, false];
  let revealed = "";
  function marks(list, chosen, linkOf) {
    const side = list === queries ? 0 : 1;
    if (chosen == null && !linkOf && !dressed[side]) return;
    dressed[side] = chosen != null || linkOf != null;
    const items = list.children, selected = app.chosen(index)[side ? "k" : "q"];
    for (let i = 0; i < items.length; i++) {
      const item = items[i], is = i === chosen, { weight, told, colour, name } = linkOf ? linkOf(i) : {};
      item.classList.toggle("ax-chosen", is);
      item.setAttribute("aria-selected", i === selected); // what is pointed at is not chosen yet
      const glow = told
        ? `color-mix(in srgb, ${colour} ${Math.round(Math.sqrt(weight) * 55)}%, transparent)`
        : "";
      if (item.style.background !== glow) item.style.background = glow;
      const text = told && step >= 12 ? name + threeDecimals(weight) : "";
      if (item.lastChild.textContent !== text) item.lastChild.textContent = text;
    }
    const stop = chosen ?? [...items].findIndex((item) => item.tabIndex === 0);
    for (let i = 0; i < items.length; i++) items[i].tabIndex = i === Math.max(0, stop) ? 0 : -1;
  }

  const box = make("div", { className: "ax-pair" }, queries, canvas, keys);
  const wide = { style: `width: ${side}px` }, apart = { className: "ax-sides", style: `gap: ${across}px` };
  const sides = make("div", apart, make("span", wide, "queries look"), make("span", wide, "at keys"));
  const frame = app.framed(panel, sides, box);
  return { node: frame, paint, width: room };
}
