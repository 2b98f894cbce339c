// The view "heatmap": one head as a map, with its names, numbers, mask and gold links.
// @ts-check

import { RAMP, SPLIT, inkOn, tableOf } from "./colours.js";
import { FONT, clamp, fit, label, make, put, scratch, shorten } from "./pieces.js";
import { difference, signed } from "./weights.js";
import { attachCells } from "./hands.js";

// A map of a pixel for each weight, enlarged by the page, with strips of labels beside and above:
// one canvas for all of it would take ten times the memory.
/** @param {App} app @param {number} index @param {number} room */
export function heatmap(app, index, room) {
  const panel = app.panels[index], { M, N } = panel;
  const probe = scratch(1, 1).getContext("2d");
  const narrow = room < 480, most = 120; // pixels of a name
  const largest = Math.max(M, N) <= 8 ? 54 : 44; // a few tokens may have large cells
  const wanted = clamp(Math.min((room - (narrow ? 70 : 96)) / N, 600 / M), 1, largest);
  const size = clamp(wanted * 0.62, 9, 13);
  probe.font = `600 ${size}px ${FONT}`; // as the chosen one is written
  const names = (tokens) => tokens.map((token) => label(token, 24));
  const queries = names(panel.queries);
  const keys = panel.keys === panel.queries ? queries : names(panel.keys);
  const widest = (texts) => Math.max(...texts.map((t) => Math.min(most, probe.measureText(t).width)));
  const queryWidth = widest(queries), keyWidth = keys === queries ? queryWidth : widest(keys);
  const left = Math.ceil(Math.min(queryWidth, narrow ? 90 : most)) + 14;
  const cellWith = (lean) => { // beside the map the last slanted name wants room
    const free = clamp(Math.min((room - left - lean) / N, 600 / M), 1, largest);
    return free >= 3 ? Math.floor(free) : free;
  };
  const upright = keyWidth <= cellWith(8) - 4, tilt = Math.max(8, keyWidth * 0.72 + 2);
  const slanted = !upright && cellWith(tilt) >= 22 && !narrow;
  const above = Math.ceil(upright ? size + 12 : slanted ? keyWidth * 0.72 + size + 6 : keyWidth + 12);
  const lean = slanted ? tilt : 8, cell = cellWith(lean);
  const [wide, tall] = [left + cell * N + lean, above + cell * M + 6];
  const every = Math.max(1, Math.ceil((size + 1) / cell));

  const map = scratch(N, M), row = make("i"), column = make("i"), chosen = make("i");
  const spare = Math.ceil(size / 2); // a name may be taller than its row
  const beside = make("canvas"), top = make("canvas");
  const penBeside = fit(beside, left, spare + tall - above), penTop = fit(top, wide, above);
  penBeside.translate(0, spare);
  // Hatching, numbers and gold need fine lines over the map.
  const fine = panel.mask || panel.gold.length || cell >= 34 ? make("canvas") : null;
  const pen = fine && fit(fine, cell * N, cell * M);
  map.className = "ax-cells";
  const role = { role: "application", "aria-roledescription": "attention heatmap" };
  const node = make("div", { tabIndex: 0, className: "ax-canvas ax-map", ...role });
  node.append(map, beside, top, ...(fine ? [fine] : []), row, column, chosen);
  node.dataset.grid = String([left, above, cell]); // where the cells lie, for tests
  put(node, null, null, wide, tall);
  put(map, left, above, cell * N, cell * M);
  put(beside, 0, above - spare);
  put(top, 0, 0);
  if (fine) put(fine, left, above);
  const pixels = new ImageData(N, M), words32 = new Uint32Array(pixels.data.buffer);
  let painted = "", named = "";

  function fill() { // the map itself, only when the head or the theme has changed
    const s = app.state, other = app.partner(index), key = [s.layer, s.head, app.theme, !!other].join();
    if (key === painted) return;
    painted = key;
    const cells = panel.cells(s.layer, s.head), { shade } = panel;
    if (other) {
      const theirs = other.cells(s.layer, s.head), colours = tableOf(SPLIT[app.theme]);
      for (let i = 0; i < M * N; i++) {
        const gap = (cells[i] - theirs[i]) / panel.top;
        words32[i] = colours[Math.round(127.5 + 127.5 * Math.sign(gap) * Math.sqrt(Math.abs(gap)))];
      }
    } else {
      const colours = tableOf(RAMP[app.theme]);
      for (let i = 0; i < M * N; i++) words32[i] = colours[shade[cells[i]]];
    }
    map.getContext("2d").putImageData(pixels, 0, 0);
    if (fine) overlay(s);
    const { layer, head } = panel.at(s);
    const whose = (panel.name ? ` of ${panel.name}` : "") + (other ? ` minus ${other.name}` : "");
    const size = `layer ${layer}, head ${head}, ${M} queries by ${N} keys`;
    const keys = "Arrow keys move over the cells, Escape lets go.";
    node.setAttribute("aria-label", `Heatmap${whose}, ${size}. ${keys}`);
  }

  function overlay(s) {
    const c = app.colours;
    pen.clearRect(0, 0, cell * N, cell * M);
    if (panel.mask) hatch(pen, panel, panel.cells(s.layer, s.head), cell, c);
    if (cell >= 4 && panel.broken(s.layer, s.head)) stripes(panel.cells(s.layer, s.head));
    if (cell >= 34) numbers(s);
    pen.strokeStyle = c.gold;
    pen.lineWidth = clamp(cell / 8, 1, 3);
    const inset = pen.lineWidth / 2;
    for (const [q, k] of panel.gold) {
      pen.strokeRect(k * cell + inset, q * cell + inset, cell - 2 * inset, cell - 2 * inset);
    }
  }

  // What breaks the mask keeps its colour, and has stripes that can be seen on it.
  function stripes(cells) {
    pen.lineWidth = 1;
    pen.globalAlpha = 0.5;
    for (let i = 0; i < M * N; i++) {
      if (!cells[i] || panel.mask[i]) continue;
      const x = (i % N) * cell, y = Math.floor(i / N) * cell, half = cell / 2;
      pen.strokeStyle = inkOn(words32[i]);
      pen.beginPath();
      for (const [a, b] of [[half, half], [cell, cell]]) {
        pen.moveTo(x + cell - a, y + cell);
        pen.lineTo(x + cell, y + cell - b);
      }
      pen.moveTo(x, y + half);
      pen.lineTo(x + half, y);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  function labels(mark) { // only when another token is marked, or the theme has changed
    const key = [mark.q, mark.k, app.theme].join();
    if (key === named) return;
    named = key;
    // The marked token is always named; what would touch its name is left out.
    const shown = (i, at) =>
      i === at || (!(i % every) && !(every > 1 && at != null && Math.abs(i - at) < every));
    const dip = (pen, marked) => {
      pen.font = `${marked ? "600 " : ""}${size}px ${FONT}`;
      pen.fillStyle = marked ? app.colours.accent : app.colours.ink;
      pen.textBaseline = "middle";
    };
    const write = (pen, texts, at, draw) => {
      dip(pen, false);
      texts.forEach((text, i) => { if (i !== at && shown(i, at)) draw(text, i); });
      if (at == null) return;
      dip(pen, true);
      draw(texts[at], at);
    };
    penBeside.clearRect(0, -spare, left, spare + tall - above);
    penBeside.textAlign = "right";
    write(penBeside, queries, mark.q, (text, q) => {
      penBeside.fillText(shorten(penBeside, text, left - 10), left - 6, (q + 0.5) * cell);
    });
    penTop.clearRect(0, 0, wide, above);
    penTop.textAlign = upright ? "center" : "left";
    write(penTop, keys, mark.k, (text, k) => {
      const x = left + (k + 0.5) * cell;
      if (upright) {
        penTop.fillText(text, x, above - size / 2 - 4);
        return;
      }
      penTop.save();
      penTop.translate(x + (slanted ? -1 : 0), above - 6);
      penTop.rotate(slanted ? -Math.PI / 4 : -Math.PI / 2);
      const space = slanted ? most : above - 8;
      penTop.fillText(shorten(penTop, text, space), 0, 0);
      penTop.restore();
    });
  }

  function paint() {
    const { q, k } = app.mark(index);
    fill();
    labels({ q, k });
    row.hidden = q == null;
    column.hidden = k == null;
    chosen.hidden = row.hidden || column.hidden || cell < 4;
    put(row, left, above + q * cell, cell * N, cell);
    put(column, left + k * cell, above, cell, cell * M);
    put(chosen, left + k * cell, above + q * cell, cell, cell);
  }

  function numbers(s) {
    const other = app.partner(index);
    pen.font = `11px ${FONT}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let q = 0; q < M; q++) for (let k = 0; k < N; k++) {
      const exact = panel.text(s.layer, s.head, q, k), gap = other && difference(panel, other, s, q, k);
      const text = (other ? signed(gap) : exact).replace(/^(\D?)0/, "$1").replace("1.000", "1");
      const nothing = other ? gap === 0 : exact === "0.000";
      if (nothing && panel.mask && !panel.mask[q * N + k]) continue;
      pen.fillStyle = inkOn(words32[q * N + k]);
      pen.globalAlpha = nothing ? 0.35 : 1;
      pen.fillText(text, (k + 0.5) * cell, (q + 0.5) * cell + 0.5);
    }
    pen.globalAlpha = 1;
  }

  const hit = (x, y) => {
    const k = Math.floor((x - left) / cell), q = Math.floor((y - above) / cell);
    if (k >= N || q >= M || (k < 0 && q < 0)) return null;
    return { q: q < 0 ? null : q, k: k < 0 ? null : k };
  };
  const place = (q, k) => ({ x: left + ((k ?? 0) + 0.5) * cell, y: above + ((q ?? 0) + 0.5) * cell });
  attachCells(app, node, () => index, hit, place, (move) => {
    const s = app.state, at = app.chosen(index), q = at.q ?? 0, k = at.k ?? 0;
    const first = s.token == null || s.key == null || app.focus() !== index;
    if (move === "Home") return { token: q, key: 0 };
    if (move === "End") return { token: q, key: N - 1 };
    if (move === "Enter" && !first) return { token: null, key: null };
    return first || move === "Enter"
      ? { token: q, key: k }
      : { token: clamp(q + move[1], 0, M - 1), key: clamp(k + move[0], 0, N - 1) };
  });
  return { node: app.framed(panel, node), paint, width: wide };
}

/** @param {CanvasRenderingContext2D} pen @param {Panel} panel @param {Uint16Array} cells @param {number} cell */
function hatch(pen, panel, cells, cell, c) {
  const { M, N, mask } = panel, step = Math.max(4, Math.min(7, cell / 2));
  pen.save();
  pen.beginPath();
  const plain = (q, k) => mask[q * N + k] || cells[q * N + k];
  for (let q = 0; q < M; q++) { // one rectangle for each run of forbidden cells
    for (let k = 0; k < N; k++) {
      if (plain(q, k)) continue;
      const from = k;
      while (k < N && !plain(q, k)) k++;
      pen.rect(from * cell, q * cell, (k - from) * cell, cell);
    }
  }
  pen.fillStyle = c.veil;
  pen.fill();
  pen.clip();
  pen.beginPath();
  for (let d = -M * cell; d < N * cell; d += step) {
    pen.moveTo(d, M * cell);
    pen.lineTo(d + M * cell, 0);
  }
  pen.strokeStyle = c.hatch;
  pen.lineWidth = 1;
  pen.stroke();
  pen.restore();
}
