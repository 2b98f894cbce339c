// The view "heads": every head of every layer as a small map.
// @ts-check

import { RAMP, tableOf } from "./colours.js";
import { FONT, clamp, fit, make, plainKey, reveal, scratch } from "./pieces.js";
import { unpack } from "./weights.js";

/** @param {App} app @param {number} index @param {number} room */
export function headGrid(app, index, room) {
  const panel = app.panels[index], { L, H, M, N } = panel;
  const role = { role: "application", "aria-roledescription": "grid of heads" };
  const canvas = make("canvas", { tabIndex: 0, className: "ax-canvas", ...role });
  const sorted = app.state.sort !== "layer";
  const gap = L * H <= 16 ? 12 : 7;
  const left = sorted ? 2 : 28, above = sorted ? 4 : 22, below = sorted ? 12 : 0;
  const columns = sorted ? Math.max(1, Math.min(L * H, Math.floor((room - left) / 58))) : H;
  const side = Math.floor(clamp((room - left - 4) / columns - gap, 10, H * L <= 16 ? 96 : 56));
  const rows = Math.ceil((L * H) / columns);
  const [wide, tall] = [left + columns * (side + gap) + 2, above + rows * (side + gap + below) + 2];
  const pen = fit(canvas, wide, tall), ratio = canvas.width / wide, dots = Math.round(side * ratio);
  const order = [...Array(L * H).keys()];
  if (sorted) {
    const by = panel.measures[app.state.sort];
    order.sort((a, b) => by[a] - by[b] || a - b);
  }
  const place = new Int32Array(L * H);
  order.forEach((head, i) => { place[head] = i; });
  const across = (i) => left + (i % columns) * (side + gap);
  const corner = (i) => [across(i), above + Math.floor(i / columns) * (side + gap + below)];
  const sheet = scratch(dots * H, dots * L);
  let painted = "", revealed = null;

  function fill() { // each map pooled by its largest weight, or enlarged, into one picture
    if (painted === app.theme) return;
    painted = app.theme;
    const pen2 = sheet.getContext("2d"), image = pen2.createImageData(dots * H, dots * L);
    const out = new Uint32Array(image.data.buffer), colours = tableOf(RAMP[app.theme]);
    const { shade } = panel;
    // Pixel i of the small map shows the cells from[i] to from[i + 1], at least one.
    const starts = (count) =>
      Uint16Array.from({ length: dots + 1 }, (_, i) => Math.floor((i * count) / dots));
    const top = starts(M), left = starts(N);
    let layer = null;
    for (let h = 0; h < L * H; h++) {
      const corner = Math.floor(h / H) * dots * dots * H + (h % H) * dots;
      // Each layer once, and only those kept that are looked at for themselves.
      if (h % H === 0) layer = panel.layers[h / H] ?? unpack(panel, h / H);
      const cells = layer[h % H];
      for (let y = 0; y < dots; y++) for (let x = 0; x < dots; x++) {
        let most = 0;
        for (let q = top[y]; q < Math.max(top[y] + 1, top[y + 1]); q++) {
          const row = q * N, end = row + Math.max(left[x] + 1, left[x + 1]);
          for (let i = row + left[x]; i < end; i++) if (cells[i] > most) most = cells[i];
        }
        out[corner + y * dots * H + x] = colours[shade[most]];
      }
    }
    pen2.putImageData(image, 0, 0);
  }

  function paint() {
    const s = app.state, c = app.colours;
    fill();
    pen.clearRect(0, 0, wide, tall);
    pen.imageSmoothingEnabled = false;
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.fillStyle = c.quiet;
    if (!sorted) {
      pen.textAlign = "center";
      for (let h = 0; h < H; h++) pen.fillText(h, corner(h)[0] + side / 2, 12);
      pen.textAlign = "right";
      for (let l = 0; l < L; l++) pen.fillText(l, left - 6, corner(l * H)[1] + side / 2);
    }
    pen.strokeStyle = c.edge;
    pen.lineWidth = 1;
    for (let h = 0; h < L * H; h++) {
      const [x, y] = corner(place[h]);
      pen.drawImage(sheet, (h % H) * dots, Math.floor(h / H) * dots, dots, dots, x, y, side, side);
      pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
      if (sorted) {
        pen.textAlign = "center";
        pen.font = `9px ${FONT}`;
        pen.fillText(`${Math.floor(h / H)}·${h % H}`, x + side / 2, y + side + 8);
      }
    }
    const { layer, head } = panel.at(s), chosen = layer * H + head, [x, y] = corner(place[chosen]);
    pen.strokeStyle = c.accent;
    pen.lineWidth = 3;
    pen.strokeRect(x - 1, y - 1, side + 2, side + 2);
    const by = sorted ? `, sorted by ${s.sort}` : "", now = `layer ${layer}, head ${head}`;
    const words = `${L} layers by ${H} heads${by}. Chosen: ${now}. Arrow keys choose another.`;
    canvas.setAttribute("aria-label", words);
    if (chosen === revealed) return;
    const above = canvas.getBoundingClientRect().top;
    if (revealed != null || place[chosen]) reveal(frame, { top: above + y, bottom: above + y + side });
    revealed = chosen;
  }

  const choose = (i) => app.set({ layer: Math.floor(order[i] / H), head: order[i] % H, panel: index });
  canvas.addEventListener("click", (event) => {
    const column = Math.floor((event.offsetX - left) / (side + gap));
    const row = Math.floor((event.offsetY - above) / (side + gap + below));
    const i = row * columns + column;
    if (column >= 0 && column < columns && row >= 0 && i < L * H) choose(i);
  });
  canvas.addEventListener("keydown", (event) => {
    if (!plainKey(event)) return;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    const { layer, head } = panel.at(app.state), now = place[layer * H + head];
    if (event.key === "Enter") app.set({ view: "heatmap" });
    else if (event.key === "Home") choose(0);
    else if (event.key === "End") choose(L * H - 1);
    else if (step && now + step >= 0 && now + step < L * H) choose(now + step);
    else if (!step) return;
    event.preventDefault();
    event.stopPropagation();
  });
  const first = `lowest ${app.state.sort} first · layer·head under each map`;
  const axes = make("div", { className: "ax-axes" }, sorted ? first : "down: layers · across: heads");
  const frame = app.framed(panel, axes, canvas);
  return { node: frame, paint, width: wide };
}
