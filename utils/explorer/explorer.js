// The attention explorer in the page: one file, no library, no network, nothing to build.
//
// It reads like this: bytes → weights, colours, words, then one painter for each view (heatmap,
// lines, heads, image, words), then the controls and words, and at the end `prepare` and `show`,
// which put them together.
// Everywhere: q = query = row, k = key = column.

// ---------------------------------------------------------------- bytes → weights

const toBytes = (value) => {
  if (typeof value === "string") return Uint8Array.from(atob(value), (c) => c.charCodeAt(0));
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return value ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array();
};

function inflate(bytes) {
  const { readable, writable } = new DecompressionStream("deflate-raw"), pen = writable.getWriter();
  for (const done of [pen.write(bytes), pen.close()]) done.catch(() => {}); // `readable` fails too
  return new Response(readable).arrayBuffer();
}

// What is known of a panel before its weights are there.
function describePanel(entry) {
  const [L, H, M, N] = entry.shape;
  const panel = { ...entry, L, H, M, N, keys: entry.keys || entry.queries, top: 1000 * entry.m };
  // Colour number of each step: its square root, so that small weights stay visible.
  panel.shade = Uint8Array.from({ length: panel.top + 1 }, (_, i) => Math.sqrt(i / panel.top) * 255 + 0.5);
  panel.goldSet = new Set(entry.gold.map(([q, k]) => q * N + k));
  panel.tokens = JSON.stringify([panel.queries, panel.keys]); // equal = same words
  // Blocks may differ in size.
  panel.at = (s) => ({ layer: Math.min(s.layer, L - 1), head: Math.min(s.head, H - 1) });
  // The steps of one head, row by row. A layer is unpacked when it is first asked for.
  panel.layers = Array(L);
  panel.cells = (layer, head) => {
    const at = Math.min(layer, L - 1);
    return (panel.layers[at] ||= unpack(panel, at))[Math.min(head, H - 1)];
  };
  const broken = new Map(); // by head: counted once
  panel.broken = (layer, head) => { // how many weights the mask forbids that are not 0 all the same
    const cells = panel.cells(layer, head);
    if (!broken.has(cells)) broken.set(cells, panel.mask ? countBroken(cells, panel.mask) : 0);
    return broken.get(cells);
  };
  panel.row = (layer, head, q) => panel.cells(layer, head).subarray(q * N, (q + 1) * N);
  panel.weight = (layer, head, q, k) => panel.cells(layer, head)[q * N + k] / panel.top;
  panel.text = (layer, head, q, k) => threeDecimals(panel.weight(layer, head, q, k));
  return panel;
}

function countBroken(cells, mask) {
  let count = 0;
  for (let i = 0; i < cells.length; i++) if (cells[i] && !mask[i]) count++;
  return count;
}

// The inverse of encode.py: first a byte for each weight of each panel, with its mask behind it, then
// the 16-bit lists, layer by layer.
function fillPanels(panels, raw) {
  let at = 0;
  for (const panel of panels) {
    const { L, H, M, N } = panel;
    panel.plane = raw.subarray(at, (at += L * H * M * N));
    panel.mask = panel.masked ? raw.subarray(at, (at += M * N)) : null;
    // A notebook saved by an earlier version does not say it.
    panel.escaped ??= Array.from({ length: L }, (_, layer) => {
      return bytesOf(panel, layer).reduce((count, byte) => count + (byte === 255), 0);
    });
  }
  for (const panel of panels) {
    panel.large = panel.escaped.map((count) => raw.subarray(at, (at += 2 * count)));
  }
  if (at !== raw.length) {
    throw new Error(`expected ${number(at)} bytes of weights, got ${number(raw.length)}`);
  }
}

const bytesOf = ({ plane, H, M, N }, layer) =>
  plane.subarray(layer * H * M * N, (layer + 1) * H * M * N);

// One layer, head by head. A byte of 255 means "in the 16-bit list".
function unpack(panel, layer) {
  const { large, H, M, N } = panel, size = M * N, bytes = bytesOf(panel, layer);
  // Copied and searched natively: a loop takes four times as long.
  const steps = new Uint16Array(bytes), list = large[layer];
  for (let i = bytes.indexOf(255), j = 0; i >= 0; i = bytes.indexOf(255, i + 1), j += 2) {
    steps[i] = list[j] | (list[j + 1] << 8);
  }
  return Array.from({ length: H }, (_, head) => steps.subarray(head * size, (head + 1) * size));
}

// A step is an odd part of a thousandth: rounding to thousandths is exact, see encode.py.
const threeDecimals = (weight) => (Math.round(weight * 1000 + 1e-9) / 1000).toFixed(3);

// ---------------------------------------------------------------- colours

// From nothing to everything, lightness changing one way only: safe without colour vision.
const RAMP = {
  light: ["#ffffff", "#dcebf5", "#a9cfe5", "#62a3cf", "#2b6fae", "#134583", "#0a2350"],
  dark: ["#1b1e24", "#1d3450", "#22587f", "#2f83a6", "#5db4b5", "#b3dcb0", "#fdf8cf"],
};
// Difference of two maps: orange = less here, blue = more here.
const SPLIT = {
  light: ["#7a2e04", "#d9772b", "#f6d3b3", "#ffffff", "#c3dcee", "#4a8fc4", "#0a2f63"],
  dark: ["#ffc48a", "#d9772b", "#6b3d1d", "#1b1e24", "#1d4468", "#4a97cc", "#c4e3f8"],
};
const HEAD_COLOURS = [
  "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
  "#6a51a3", "#8c6d31", "#17a2a2", "#b2182b", "#7f7f7f", "#66a61e",
];
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function table256(stops) {
  const colours = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1), j = Math.min(stops.length - 2, Math.floor(at));
    const [a, b] = [rgb(stops[j]), rgb(stops[j + 1])];
    const [r, g, u] = a.map((from, c) => Math.round(from + (b[c] - from) * (at - j)));
    colours[i] = ((255 << 24) | (u << 16) | (g << 8) | r) >>> 0;
  }
  return colours;
}
const TABLES = new Map(); // made when first needed
function tableOf(stops) {
  if (!TABLES.has(stops)) TABLES.set(stops, table256(stops));
  return TABLES.get(stops);
}

function themeOf() {
  const { body, documentElement: html } = document;
  const told = body.dataset.jpThemeLight; // JupyterLab, Notebook, nbconvert
  if (told) return told === "false" ? "dark" : "light";
  const kind = body.dataset.vscodeThemeKind; // VS Code, high contrast too
  if (kind) return kind.endsWith("light") ? "light" : "dark";
  const named = html.getAttribute("theme"); // Colab
  if (named === "dark" || named === "light") return named;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// ---------------------------------------------------------------- words

// A token as one line: what cannot be seen is made visible, what is too long is cut.
function label(token, longest = 40) {
  // All that leaves no ink becomes a dot, but for joiners, from which letters take their shape:
  // as in selection.py.
  const text = token
    .replace(/\r\n?|\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(/(?![ \u200c\u200d])[\p{C}\p{Z}]/gu, "·");
  if (!/[^ \u200c\u200d]/.test(text)) return "␣".repeat(Math.min(3, text.length)) || "∅";
  const letters = [...text.slice(0, 2 * longest)];
  return letters.length > longest || text.length > 2 * longest
    ? letters.slice(0, longest - 1).join("") + "…"
    : text;
}

// A small builder: tag, properties, children. Children that are strings become text, never HTML.
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
const word = (token, longest = 60) => make("bdi", { className: "ax-word" }, label(token, longest));
const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ","); // 12,288
// The rest are the browser's.
const plainKey = (event) =>
  !(event.ctrlKey || event.metaKey || event.altKey) || event.getModifierState("AltGraph");
// In five decimals, never less than it is.
const limit = (value) => +(Math.ceil(value * 1e5 - 1e-6) / 1e5).toFixed(5);
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// Of these heads the one in which q looks at k the most.
function loudest(panel, layer, heads, q, k) {
  let best = heads[0];
  for (const head of heads) {
    if (panel.weight(layer, head, q, k) > panel.weight(layer, best, q, k)) best = head;
  }
  return best;
}

// The two strongest links of a query (k is null) or a key (q is null), in whichever of these heads.
function strongest(panel, layer, heads, q, k) {
  let best = null, next = null;
  for (let i = 0; i < (q == null ? panel.M : panel.N); i++) {
    const from = q ?? i, to = k ?? i;
    const head = loudest(panel, layer, heads, from, to);
    const weight = panel.weight(layer, head, from, to);
    if (!best || weight > best.weight) [best, next] = [{ q: from, k: to, head, weight }, best];
    else if (!next || weight > next.weight) next = { q: from, k: to, head, weight };
  }
  return [best, next];
}

// ---------------------------------------------------------------- canvases

function fit(canvas, width, height) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

// Where a node lies, in pixels; what is null stays as it is.
function put(node, left, top, width, height) {
  for (const [name, value] of Object.entries({ left, top, width, height })) {
    if (value != null) node.style[name] = `${value}px`;
  }
}

const scratch = (width, height) => Object.assign(document.createElement("canvas"), { width, height });
const FONT =
  'system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "Noto Sans Arabic", sans-serif';

function shorten(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  const letters = [...text];
  let low = 0, high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(letters.slice(0, middle).join("") + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

// ---------------------------------------------------------------- heatmap

// A map of a pixel for each weight, enlarged by the page, with strips of labels beside and above:
// one canvas for all of it would take ten times the memory.
function heatmap(app, index, room) {
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
  const node = make(
    "div",
    { tabIndex: 0, className: "ax-canvas ax-map" },
    map,
    beside,
    top,
    ...(fine ? [fine] : []),
    row,
    column,
    chosen,
  );
  node.setAttribute("role", "application");
  node.setAttribute("aria-roledescription", "attention heatmap");
  node.dataset.grid = [left, above, cell]; // where the cells lie, for tests
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
    node.setAttribute(
      "aria-label",
      `Heatmap${
        panel.name ? ` of ${panel.name}` : ""
      }${other ? ` minus ${other.name}` : ""}, layer ${layer}, head ${head}, ${M} queries by ${N} keys. Arrow keys move over the cells, Escape lets go.`,
    );
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
  app.cells(node, () => index, hit, place, (move) => {
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

// What the two numbers on the screen differ by.
const difference = (panel, other, s, q, k) =>
  Math.round(
    1000 * (Number(panel.text(s.layer, s.head, q, k)) - Number(other.text(s.layer, s.head, q, k))),
  ) / 1000;
const signed = (gap) => (gap ? (gap < 0 ? "−" : "+") : "") + Math.abs(gap).toFixed(3);

// Black or white, whichever can be read better on a colour (as a pixel: 0xAABBGGRR).
function inkOn(pixel) {
  const light = [pixel, pixel >> 8, pixel >> 16].map((c) => ((c & 255) / 255) ** 2.2);
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.18 ? "#14171c" : "#ffffff";
}

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

// ---------------------------------------------------------------- lines

const THICK = 8; // pixels of a line of weight 1

// How far a line has come down after each pixel of its way across: a gentle S (a Bézier curve).
function slope(width) {
  const way = new Float32Array(width + 1);
  for (let i = 0, t = 0; i <= width; i++) {
    while (t < 1 && 1.5 * t - 1.5 * t * t + t * t * t < i / width) t += 0.001;
    way[i] = t * t * (3 - 2 * t);
  }
  return way;
}

// All lines of all heads in one pass over the picture, column by column: a hundred thousand lines
// take a tenth of a second, where stroking each would take two. In a column a line covers a piece
// of height |slope| + thickness; it is added to `edge` where it begins and taken away where it
// ends, so that a running sum over the column gives what covers each pixel. The faintest lines
// skip this and drop their share on the nearest two pixels. `coarse` is a column's width: where
// there are thousands of lines, two pixels are as good as one.
// The loops are functions of their own: the browser makes short ones fast twice as soon.
const FAINT = 0.15, EDGE = 2; // thickness; pixels above the picture

function rasterise(image, heads, M, N, step, coarse) {
  const { width, height } = image, way = slope(width);
  const edge = new Float32Array(height + 8), dust = new Float32Array(height + 8);
  const sums = [0, 1, 2, 3].map(() => new Float32Array(height)); // cover, red, green, blue
  const column = { step, down: 0, steep: new Float32Array(M + N), long: new Float32Array(M + N) };
  for (let x = 0; x < width; x++) {
    const fall = (way[x + 1] - way[x]) * step;
    column.down = (way[x] + way[x + 1]) / 2;
    for (let d = -M; d < N; d++) { // d = k - q
      column.steep[d + M] = Math.abs(d * fall);
      column.long[d + M] = Math.sqrt(1 + ((d * fall) / coarse) ** 2); // Math.hypot is ten times slower
    }
    for (const head of heads) {
      cover(head, column, M, N, edge, dust);
      addUp(edge, dust, height, head.colour, ...sums);
    }
    ink(image, x, ...sums);
  }
}

// How many lines a head has: those with some thickness.
function linesOf({ cells, thick, from, to, first, last }, N) {
  let count = 0;
  for (let q = from; q < to; q++) {
    for (let k = first; k < last; k++) if (thick[cells[q * N + k]] > 0) count++;
  }
  return count;
}

// One head's lines in one column; `shift` lets the heads of a layer run side by side.
function cover({ cells, shift, thick, from, to, first, last }, column, M, N, edge, dust) {
  const { step, down, steep, long } = column, bottom = edge.length - 3;
  for (let q = from; q < to; q++) {
    const row = q * N, diagonal = M - q;
    for (let k = first; k < last; k++) {
      const thin = thick[cells[row + k]];
      if (thin === 0) continue;
      const y = (q + 0.5 + (k - q) * down) * step + EDGE + shift, part = thin * long[k + diagonal];
      if (thin < FAINT) {
        const at = (y - 0.5) | 0, share = part * (y - 0.5 - at);
        dust[at] += part - share;
        dust[at + 1] += share;
        continue;
      }
      const tall = steep[k + diagonal] + part, value = part / tall;
      const top = Math.max(0, y - tall / 2), end = Math.min(bottom, y + tall / 2);
      const i = top | 0, j = end | 0;
      const begun = value * (top - i), ended = value * (end - j);
      edge[i] += value - begun;
      edge[i + 1] += begun;
      edge[j] -= value - ended;
      edge[j + 1] -= ended;
    }
  }
}

function addUp(edge, dust, height, [r, g, b], sum, red, green, blue) {
  let covered = edge[0] + edge[1];
  for (let y = 0; y < height; y++) {
    covered += edge[y + EDGE];
    const s = covered + dust[y + EDGE];
    if (s > 1e-4) { sum[y] += s; red[y] += s * r; green[y] += s * g; blue[y] += s * b; }
  }
  edge.fill(0); // clean for the next head
  dust.fill(0);
}

function ink({ width, height, data }, x, sum, red, green, blue) {
  for (let y = 0, at = x * 4; y < height; y++, at += width * 4) {
    const s = sum[y];
    if (s === 0) continue; // the picture is new, and clear there
    data[at] = red[y] / s; data[at + 1] = green[y] / s; data[at + 2] = blue[y] / s;
    data[at + 3] = 255 * (1 - Math.exp(-2 * s));
    sum[y] = red[y] = green[y] = blue[y] = 0;
  }
}

function lines(app, index, room) {
  const panel = app.panels[index], { M, N } = panel, most = Math.max(M, N);
  const step = most > 1000 ? 7 : most > 200 ? 12 : most > 48 ? 14 : 22, every = Math.ceil(10 / step);
  const side = Math.floor(clamp(room * 0.34, 96, 170)), across = clamp(room - 2 * side, 80, 200);
  const height = most * step;
  const canvas = make("canvas", { className: "ax-lines" });
  canvas.setAttribute("aria-hidden", "true");
  const pen = fit(canvas, across, height), ratio = canvas.width / across;
  const images = {}; // a picture for columns of one pixel, and one for columns of two
  const column = (tokens, part) => {
    const list = make("div", { className: `ax-tokens ax-${part}` });
    list.setAttribute("role", "listbox");
    list.setAttribute(
      "aria-label",
      `${
        part === "queries" ? "Queries: who looks" : "Keys: what is looked at"
      }${panel.name ? `, ${panel.name}` : ""}`,
    );
    list.append(...tokens.map((token, i) => {
      const b = make("div", {
        className: "ax-token",
        tabIndex: i ? -1 : 0,
        title: token.length > 12 ? label(token, 200) : "",
      });
      b.setAttribute("role", "option");
      b.append(
        make("bdi", { className: i % every ? "ax-crowded" : "" }, label(token, 40)),
        make("span", { className: "ax-num" }),
      );
      return b;
    }));
    list.style.setProperty("--step", `${step}px`);
    list.style.width = `${side}px`;
    return list;
  };
  const queries = column(panel.queries, "queries"), keys = column(panel.keys, "keys");
  for (const [list, side] of [[queries, "q"], [keys, "k"]]) app.tokens(list, index, side);

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
      return {
        weight,
        told,
        name: s.all_heads ? `h${head} ` : "",
        colour: s.all_heads ? HEAD_COLOURS[head % 12] : "var(--ax-line)",
      };
    };
    marks(queries, mark.q, mark.q == null && mark.k != null ? (q) => link(q, mark.k) : null);
    marks(keys, mark.k, mark.q != null ? (k) => link(mark.q, k) : null);
    app.count(index, drawn, (rangeQ[1] - rangeQ[0]) * (rangeK[1] - rangeK[0]) * count);
    const chosen = [mark.q, mark.k].join();
    // What is pointed at can be seen; a reader may have scrolled since.
    if (app.hover || chosen === revealed) return;
    revealed = chosen;
    if (one) {
      reveal(
        frame,
        (mark.q != null ? queries.children[mark.q] : keys.children[mark.k]).getBoundingClientRect(),
      );
    }
  }

  let dressed = [null, null], revealed = "";
  function marks(list, chosen, linkOf) {
    const side = list === queries ? 0 : 1;
    if (chosen == null && !linkOf && !dressed[side]) return;
    dressed[side] = chosen != null || linkOf;
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
  const sides = make(
    "div",
    { className: "ax-sides" },
    make("span", {}, "queries look"),
    make("span", {}, "at keys"),
  );
  for (const text of sides.children) text.style.width = `${side}px`;
  sides.style.gap = `${across}px`;
  const frame = app.framed(panel, sides, box);
  return { node: frame, paint, width: room };
}

// ---------------------------------------------------------------- all heads

// Scroll a box until a piece of it is in its middle, if it cannot be seen.
function reveal(box, { top, bottom, left, right }) {
  const seen = box.getBoundingClientRect();
  if (top < seen.top || bottom > seen.bottom) box.scrollTop += (top + bottom - seen.top - seen.bottom) / 2;
  if (left < seen.left || right > seen.right) box.scrollLeft += (left + right - seen.left - seen.right) / 2;
}

function headGrid(app, index, room) {
  const panel = app.panels[index], { L, H, M, N } = panel;
  const canvas = make("canvas", { tabIndex: 0, className: "ax-canvas" });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "grid of heads");
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
  const corner = (i) => [
    left + (i % columns) * (side + gap),
    above + Math.floor(i / columns) * (side + gap + below),
  ];
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
    canvas.setAttribute(
      "aria-label",
      `${L} layers by ${H} heads${
        sorted ? `, sorted by ${s.sort}` : ""
      }. Chosen: layer ${layer}, head ${head}. Arrow keys choose another.`,
    );
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
  const axes = make(
    "div",
    { className: "ax-axes" },
    sorted
      ? `lowest ${app.state.sort} first · layer·head under each map`
      : "down: layers · across: heads",
  );
  const frame = app.framed(panel, axes, canvas);
  return { node: frame, paint, width: wide };
}

// ---------------------------------------------------------------- pictures

// The picture, dark where a patch gets nothing and clear where it gets the most.
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

function imageView(app, room) {
  const panel = app.panels[0], [rows, columns] = app.grid, extra = panel.N - rows * columns;
  const looksAtItself = panel.keys === panel.queries, { flow } = app;
  const aspect = app.picture.height / app.picture.width;
  const wide = Math.max(1, Math.round(Math.min(room, 400, 560 / aspect))), tall = Math.max(1, Math.round(wide * aspect));
  const canvas = make("canvas", { tabIndex: 0, className: "ax-canvas" });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "picture under attention");
  const pen = fit(canvas, wide, tall);
  const query = () => app.chosen(0).q ?? 0;
  const chips = make("div", { className: "ax-chips" });
  const free = looksAtItself ? extra : panel.M;
  for (let q = 0; q < free; q++) {
    chips.append(make(
      "button",
      {
        type: "button",
        className: "ax-chip",
        onclick: () => app.set({ token: q, key: null, panel: app.focus() }),
      },
      make("bdi", {}, label(panel.queries[q])),
    ));
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
      const top = veil(item.pen, app, panel, panel.row(s.layer, head, q), item.side, item.tall);
      item.name.textContent = `head ${head}`;
      item.most.textContent = threeDecimals(top);
      item.node.setAttribute("aria-pressed", !rolled && head === at);
    });
    if (roll) {
      const other = app.panels[flow];
      const top = veil(roll.pen, app, other, other.row(s.layer, 0, q), roll.side, roll.tall);
      roll.name.textContent = "rollout";
      roll.most.textContent = threeDecimals(top);
      roll.node.setAttribute("aria-pressed", rolled);
    }
    [...chips.children].forEach((chip, i) => chip.setAttribute("aria-pressed", i === q));
    canvas.setAttribute(
      "aria-label",
      `Picture of ${rows} by ${columns} patches under the attention of ${
        label(panel.queries[q])
      }. Arrow keys move over the patches${
        looksAtItself ? ", Enter makes a patch the one that looks" : ""
      }.`,
    );
  }

  const hit = (x, y) => {
    const c = Math.floor((x / wide) * columns), r = Math.floor((y / tall) * rows);
    return c < 0 || r < 0 || c >= columns || r >= rows ? null : { q: query(), k: extra + r * columns + c };
  };
  const place = (q, k) => ({
    x: (((k - extra) % columns) + 0.5) * (wide / columns),
    y: (Math.floor((k - extra) / columns) + 0.5) * (tall / rows),
  });
  app.cells(
    canvas,
    () => app.focus(),
    hit,
    place,
    (move) => {
      const at = (app.state.key ?? extra) - extra;
      if (move === "Enter") return looksAtItself ? { token: at + extra, key: at + extra } : null;
      if (!Array.isArray(move)) return null;
      const c = clamp((at % columns) + move[0], 0, columns - 1);
      const r = clamp(Math.floor(at / columns) + move[1], 0, rows - 1);
      return { token: query(), key: app.state.key == null ? extra : extra + r * columns + c };
    },
    (at) => {
      return looksAtItself
        ? { token: at.k, key: null }
        : { token: at.q, key: app.state.key === at.k ? null : at.k };
    },
  );
  const gallery = make(
    "div",
    { className: "ax-gallery" },
    ...small.map((item) => item.node),
    ...(roll ? [roll.node] : []),
  );
  return {
    node: make(
      "div",
      { className: "ax-image" },
      make("div", { className: "ax-figure" }, caption, canvas, chips),
      gallery,
    ),
    paint,
    width: room,
  };
}

function wordsView(app, room) {
  const panel = app.panels[0], aspect = app.picture.height / app.picture.width;
  const side = room < 480 ? 92 : 124;
  const items = panel.queries.map((token, q) => {
    const toggle = () => app.set({ token: app.chosen(0).q === q ? null : q, key: null, panel: 0 });
    return thumbnail(side, aspect, toggle);
  });
  function paint() {
    const s = app.state;
    items.forEach((item, q) => {
      const most = veil(item.pen, app, panel, panel.row(s.layer, s.head, q), item.side, item.tall);
      item.name.textContent = label(panel.queries[q], 18);
      item.most.textContent = threeDecimals(most);
      item.node.setAttribute("aria-pressed", q === app.chosen(0).q);
    });
  }
  const gallery = make("div", { className: "ax-gallery" }, ...items.map((item) => item.node));
  const axes = make(
    "div",
    { className: "ax-axes" },
    `one picture for each ${
      panel.keys === panel.queries ? "token that looks" : "word, in the order they were written"
    } · the number is the brightest patch's weight`,
  );
  return { node: app.framed(panel, axes, gallery), paint, width: room };
}

// ---------------------------------------------------------------- the explorer

const TRAITS = ["view", "layer", "head", "token", "key", "threshold", "sort", "all_heads", "difference"];
const SHORTCUTS =
  "Tab goes from part to part; arrow keys move over heads, cells, patches and tokens, Enter chooses and lets go; Page Up and Page Down change the layer, [ and ] the head; Escape lets go of the token, and once more leaves the explorer.";
const NAMES = { heatmap: "Heatmap", lines: "Lines", heads: "All heads", image: "Picture", words: "Words" };

// Never a blank cell: if something fails, say so.
async function render({ model, el, prepared = prepare(model) }) {
  try {
    return show(await prepared, model, el);
  } catch (error) {
    el.replaceChildren(make(
      "div",
      { className: "ax" },
      `The explorer could not draw the weights (${error}). Run the cell again; if that does not help, try a newer browser.`,
    ));
    throw error;
  }
}

// What stays on the page, from the title to the table; the painters fill the stage.
function layOut(app, text) {
  const title = make("div", { className: "ax-title", hidden: !text }, text || "");
  const bar = make("div", { className: "ax-bar" }), stage = make("div", { className: "ax-stage" });
  const sentence = make("div", { className: "ax-sentence" });
  sentence.setAttribute("role", "status");
  sentence.setAttribute("aria-live", "polite");
  const note = make("div", { className: "ax-note" });
  const tip = make("div", { className: "ax-tip", hidden: true });
  const table = make(
    "details",
    { className: "ax-table" },
    make("summary", {}, "The weights as a table, and keyboard shortcuts"),
    make("p", {}, SHORTCUTS),
    make("div", {
      className: "ax-scroll",
      tabIndex: 0,
      role: "region",
      "aria-label": "The weights as a table",
    }),
  );
  app.root.append(title, bar, stage, sentence, note, table, tip);
  table.addEventListener("toggle", () => fillTable(app));
  app.parts = { bar, stage, sentence, note, tip, table };
}

// What painters ask of the explorer.
function serve(app) {
  const { state } = app;
  // The row and column of one panel that are meant: a number means the words of its own panel, and
  // no other's.
  const meant = (index, at) => {
    return app.panels[index].tokens === app.panels[at.panel].tokens
      ? { q: at.q, k: at.k }
      : { q: null, k: null };
  };
  app.chosen = (index) => meant(index, { panel: state.panel, q: state.token, k: state.key });
  app.mark = (index) => (app.hover ? meant(index, app.hover) : app.chosen(index)); // to highlight
  app.partner = (index) => { // whose weights are subtracted
    const { partner, compared } = app.panels[index];
    return state.difference && state.view === "heatmap" && partner != null && !compared
      ? app.panels[partner]
      : null;
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
  app.cells = (...all) => attachCells(app, ...all);
  app.tokens = (...all) => attachTokens(app, ...all);
  app.set = (changes) => {
    app.parts.tip.hidden = true; // its number may be another one now
    const { M, N } = app.panels[changes.panel ?? state.panel];
    changes = { token: state.token, key: state.key, ...changes };
    if (changes.token >= M) changes.token = null; // a shorter block has no such token
    if (changes.key >= N) changes.key = null;
    for (const [name, value] of Object.entries(changes)) {
      if (state[name] === value) continue;
      state[name] = value;
      if (name === "panel") app.model.set("block", app.panels[value].name);
      else if (TRAITS.includes(name)) app.model.set(name, value);
    }
    app.model.save_changes();
    update(app, "view" in changes || "sort" in changes || "difference" in changes || "all_heads" in changes);
  };
}

// Show, or no longer show, the weight under the pointer.
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
  update(app);
}

// A canvas of cells: hover shows, click or keys choose.
function attachCells(app, canvas, panelOf, hit, place, moved, clicked) {
  const { state } = app;
  const moves = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
    Home: "Home",
    End: "End",
    Enter: "Enter",
  };
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
function attachTokens(app, list, index, side) {
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
  const show = (hover) => { app.hover = hover; update(app); };
  list.addEventListener("pointerover", (event) => { const i = number(event); if (i >= 0) show(at(i)); });
  list.addEventListener("pointerleave", () => show(null));
  list.addEventListener("click", (event) => { const i = number(event); if (i >= 0) toggle(i); });
  list.addEventListener("focusin", (event) => {
    if (!app.placing && event.target.matches(":focus-visible")) show(at(number(event)));
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
      target[next].focus();
      choose(next, across ? across === "queries" : side === "q");
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

// The same keys in every view.
function attachKeys(app) {
  const { state } = app;
  app.root.addEventListener("keydown", (event) => {
    if (!plainKey(event)) return;
    const typing = event.target.matches(
      `select, input[type=range]${event.key.startsWith("Page") ? ", .ax-scroll" : ""}`,
    );
    const turn = {
      PageUp: ["layer", -1],
      PageDown: ["layer", 1],
      "[": ["head", -1],
      "]": ["head", 1],
    }[event.key];
    if (event.key === "Escape" && state.token == null && state.key == null) {
      const notebook = app.root.parentElement?.closest("[tabindex]");
      if (notebook) notebook.focus();
      else document.activeElement.blur();
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

// The bar of choices; `app.controls` brings it in line with the state.
function makeControls(app) {
  const { state } = app;
  const layers = Math.max(...app.panels.map((p) => p.L));
  const heads = Math.max(...app.panels.map((p) => p.H));
  const group = `ax${Math.random().toString(36).slice(2)}`;
  const views = Object.keys(NAMES).filter((view) => app.grid || (view !== "image" && view !== "words"));
  const tabs = make("div", { className: "ax-views" });
  tabs.setAttribute("role", "radiogroup");
  tabs.setAttribute("aria-label", "View");
  for (const view of views) {
    const radio = make("input", {
      type: "radio",
      name: group,
      value: view,
      onchange: () => app.set({ view }),
    });
    tabs.append(make("label", {}, radio, make("span", {}, NAMES[view])));
  }
  const pick = (name, text, count) => {
    const select = make("select", { onchange: () => app.choose(name, Number(select.value)) });
    select.append(...[...Array(count).keys()].map((i) => make("option", { value: i }, String(i))));
    return { select, node: make("label", { className: "ax-pick", hidden: count < 2 }, text, select) };
  };
  const layerPick = pick("layer", "Layer", layers), headPick = pick("head", "Head", heads);
  const sortSelect = make("select", { onchange: () => app.set({ sort: sortSelect.value }) });
  for (const [value, text] of [
    ["layer", "layer"],
    ["entropy", "entropy (sharp first)"],
    ["distance", "distance (near first)"],
  ]) {
    sortSelect.append(make("option", { value }, text));
  }
  const sortPick = make("label", { className: "ax-pick" }, "Sort by", sortSelect);
  const slider = make("input", {
    type: "range",
    min: 0,
    max: Math.max(0.5, state.threshold),
    step: 0.005,
    oninput: () => app.set({ threshold: Number(slider.value) }),
  });
  const shownAt = make("output");
  const thresholdPick = make("label", { className: "ax-pick" }, "Hide under", slider, shownAt);
  const box = (name, text) => {
    const input = make("input", { type: "checkbox", onchange: () => app.set({ [name]: input.checked }) });
    return { input, node: make("label", { className: "ax-pick" }, input, text) };
  };
  const allHeads = box("all_heads", "All heads"), difference = box("difference", "Difference");
  app.parts.bar.append(
    tabs,
    layerPick.node,
    headPick.node,
    sortPick,
    thresholdPick,
    allHeads.node,
    difference.node,
  );
  app.comparable = app.panels.some((p) => p.partner != null);

  app.controls = () => {
    for (const radio of tabs.querySelectorAll("input")) radio.checked = radio.value === state.view;
    layerPick.select.value = state.layer;
    headPick.select.value = state.head;
    sortSelect.value = state.sort;
    slider.max = Math.max(slider.max, state.threshold); // a cell may set more
    slider.value = state.threshold;
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

// Lay out the view anew: the painters for this width and these colours.
function build(app) {
  dress(app);
  const { state } = app, { stage, tip } = app.parts;
  app.laidOut = app.root.clientWidth;
  const room = Math.max(220, app.laidOut - 12); // paddings
  const shown = app.panels.map((p, i) => i).filter((i) => i !== app.flow);
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

function legend(app) {
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
    const chips = [...Array(Math.max(...app.panels.map((p) => p.H))).keys()].map((h) => {
      const chip = make(
        "button",
        {
          type: "button",
          className: "ax-chip",
          onclick: () => app.set({ head: h, all_heads: false }),
        },
        make("i"),
        `head ${h}`,
      );
      chip.firstChild.style.background = HEAD_COLOURS[h % 12];
      return chip;
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

// The sentence and the note under the picture.
function speak(app) {
  const { state, counts } = app, { sentence, note } = app.parts;
  const index = app.hover ? app.hover.panel : app.focus();
  const panel = app.panels[index], other = app.panels[panel.partner], less = app.partner(index);
  const { k, q: marked } = app.mark(index);
  // A picture is always that of some token.
  const q = state.view === "image" ? marked ?? 0 : marked;
  const rolled = index === app.flow, { layer } = state, parts = [];
  const all = state.all_heads && state.view === "lines";
  const heads = all ? [...Array(panel.H).keys()] : [panel.at(state).head];
  const value = (link) => [
    all ? ` in head ${link.head}: ` : ": ",
    make("b", {}, panel.text(layer, link.head, link.q, link.k)),
  ];
  const look = (link) =>
    parts.push(word(panel.queries[link.q]), " looks at ", word(panel.keys[link.k]), ...value(link));
  if (q != null && k != null) {
    const head = loudest(panel, layer, heads, q, k);
    look({ q, k, head });
    if (other && state.view !== "image") {
      const gap = less ? `, difference ${signed(difference(panel, less, { layer, head }, q, k))}` : "";
      parts.push(` (${label(other.name, 30)}: `, other.text(layer, head, q, k), `${gap})`);
    }
    if (panel.mask && !panel.mask[q * panel.N + k]) parts.push(" — the mask forbids it");
    if (panel.goldSet.has(q * panel.N + k)) parts.push(" — a gold link");
  } else if (less && (q != null || k != null)) {
    const gaps = [...Array(q == null ? panel.M : panel.N).keys()].map((i) => {
      return difference(panel, less, { layer, head: heads[0] }, q ?? i, k ?? i);
    });
    const most = gaps.reduce((best, gap, i) => (Math.abs(gap) > Math.abs(gaps[best]) ? i : best), 0);
    const gap = make("b", {}, signed(gaps[most])), query = word(panel.queries[q ?? most]);
    const key = word(panel.keys[k ?? most]);
    if (!gaps[most]) parts.push(...(q != null ? [query, " changes nowhere"] : ["No query changes at ", key]));
    else if (q != null) parts.push(query, " changes most at ", key, ": ", gap);
    else parts.push("At ", key, ", ", query, " changes most: ", gap);
  } else if (q != null) {
    const [best, next] = strongest(panel, layer, heads, q, null);
    if (best.weight) look(best);
    else parts.push(word(panel.queries[q]), " looks nowhere");
    if (next?.weight) parts.push(", then at ", word(panel.keys[next.k]), ...value(next));
    if (panel.keys === panel.queries) {
      const [by] = strongest(panel, layer, heads, null, q);
      if (by.weight) parts.push(". Most looked at by ", word(panel.queries[by.q]), ...value(by));
    }
  } else if (k != null) {
    const [best, next] = strongest(panel, layer, heads, null, k);
    if (best.weight) {
      parts.push(
        word(panel.keys[k]),
        " is looked at most by ",
        word(panel.queries[best.q]),
        ...value(best),
      );
    } else {
      // What rounds to 0 cannot be told from 0.
      parts.push("Nobody looks at ", word(panel.keys[k]), ` with ${limit(0.5 / panel.top)} or more`);
    }
    if (next?.weight) parts.push(", then by ", word(panel.queries[next.q]), ...value(next));
  } else {
    const hint = {
      heatmap: "Point at a cell, or use the arrow keys, to read its weight.",
      lines: "Point at a token, or Tab to it, to see what it looks at and who looks at it.",
      heads: "Choose a head to enlarge it.",
      image: "Point at a patch, or use the arrow keys, to read its weight.",
      words: "Choose a word to read what it looks at.",
    }[state.view];
    parts.push(make("span", { className: "ax-quiet" }, hint));
  }
  const where = `${
    panel.name ? `${label(panel.name, 30)}, ` : ""
  }layer ${panel.at(state).layer}, ${all ? "all heads" : `head ${heads[0]}`}`;
  sentence.replaceChildren(
    make(
      "span",
      { className: "ax-where" },
      rolled ? `rollout up to layer ${panel.at(state).layer}` : where,
    ),
    " ",
    ...parts,
  );
  const notes = [];
  if (state.view === "lines") {
    const drawn = counts.reduce((sum, c) => sum + (c ? c[0] : 0), 0);
    const most = counts.reduce((sum, c) => sum + (c ? c[1] : 0), 0);
    const hidden = most - drawn;
    // Less than a step is no line.
    const least = Math.max(state.threshold, ...app.panels.map((p) => 0.5 / p.top));
    const under = `under ${limit(least)}`;
    notes.push(`${number(drawn)} of ${number(most)} ${most === 1 ? "line" : "lines"} drawn; ${
      hidden === 1 ? `1 weight ${under} is` : `${number(hidden)} weights ${under} are`
    } hidden.`);
  } else if (state.view !== "image" && state.view !== "words") {
    notes.push("Rows are queries (who looks), columns are keys (what is looked at).");
  } else {
    notes.push("Bright patches are looked at; each picture is scaled to its own largest weight.");
  }
  const broken = rolled || all ? 0 : panel.broken(layer, heads[0]);
  if (broken) {
    notes.push(`${broken === 1 ? "1 weight" : `${number(broken)} weights`} that the mask forbids ${
      broken === 1 ? "is" : "are"
    } not 0.`);
  }
  if (panel.gold.length && !all) {
    const rows = new Set(panel.gold.map(([a]) => a)), weight = (a, b) => panel.weight(layer, heads[0], a, b);
    // 2: looks nowhere.
    const most = new Map(
      [...rows].map((a) => [a, strongest(panel, layer, heads, a, null)[0].weight || 2]),
    );
    // Of equals each counts.
    const right = new Set(
      panel.gold.filter(([a, b]) => weight(a, b) >= most.get(a)).map(([a]) => a),
    ).size;
    const look = rows.size === 1 ? "query looks" : "queries look";
    notes.push(`In this head ${right} of ${rows.size} ${look} most at a gold key.`);
  }
  if (state.sort !== "layer" && state.view === "heads") {
    const { entropy, distance } = panel.measures, i = panel.at(state).layer * panel.H + heads[0];
    notes.push(
      `This head: entropy ${entropy[i].toFixed(2)} bits, mean distance ${distance[i].toFixed(1)} tokens.`,
    );
  }
  note.textContent = notes.join(" ");
}

function fillTable(app) { // only when it is open and would say something else: a reader keeps the place
  const { state: s } = app, { table } = app.parts;
  const index = app.focus(), panel = app.panels[index], { layer, head } = panel.at(s);
  const other = app.partner(index), whole = panel.M * panel.N <= 1600;
  const rows = whole ? [...Array(panel.M).keys()] : [app.chosen(index).q ?? 0];
  const says = [index, layer, head, !!other, ...rows].join();
  if (!table.open || app.tabled === says) return;
  app.tabled = says;
  const value = (q, k) =>
    other ? difference(panel, other, { layer, head }, q, k) : panel.weight(layer, head, q, k);
  const text = (q, k) => (other ? signed(value(q, k)) : panel.text(layer, head, q, k));
  const keys = panel.keys.map((t) => label(t, 200)), body = [];
  const cellOf = (tag, text, scope) => {
    const node = make(tag, { dir: "auto" }, text);
    if (scope) node.scope = scope;
    return node;
  };
  if (whole) {
    body.push(make("tr", {}, make("td", {}, "query \\ key"), ...keys.map((t) => cellOf("th", t, "col"))));
    for (const q of rows) {
      const cells = keys.map((_, k) => cellOf("td", text(q, k)));
      body.push(make("tr", {}, cellOf("th", label(panel.queries[q], 200), "row"), ...cells));
    }
  } else {
    const [q] = rows, size = (k) => Math.abs(value(q, k));
    const order = [...Array(panel.N).keys()].sort((a, b) => size(b) - size(a)).slice(0, 50);
    body.push(make("tr", {}, cellOf("th", "key", "col"), cellOf("th", other ? "difference" : "weight", "col")));
    for (const k of order) {
      body.push(make("tr", {}, cellOf("th", keys[k], "row"), cellOf("td", text(q, k))));
    }
  }
  const whose = panel.name ? label(panel.name, 40) : "";
  const place = index === app.flow
    ? `rollout up to layer ${layer}`
    : `${whose}${other ? ` minus ${label(other.name, 40)}` : ""}${whose ? ", " : ""}layer ${layer}, head ${head}`;
  const about = whole
    ? "each row is a query, each column a key"
    : `the ${body.length - 1} keys that ${label(panel.queries[rows[0]], 60)} ${
      other ? "changes most at" : "looks at most"
    }`;
  table.lastChild.replaceChildren(
    make("table", {}, make("caption", {}, `${place}: ${about}`), make("tbody", {}, ...body)),
  );
}

function paintAll(app) {
  for (const name of app.namers) name(); // first: a name pushes its figure down
  for (const figure of app.figures) figure.paint();
  speak(app);
  app.root.dataset.drawn = Number(app.root.dataset.drawn || 0) + 1;
}

// Paint with the next frame, however many changes come until then.
function update(app, rebuild = false) {
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
function refocus(app) {
  const { stage } = app.parts;
  app.placing = true; // not a student's Tab
  (
    stage.querySelector(".ax-chosen") || stage.querySelector("[tabindex='0'], button")
  )?.focus({ preventScroll: true });
  app.placing = false;
}

// Read the theme's colours once, for all painters; they are there once the view is on the page.
function dress(app) {
  const { root } = app;
  app.theme = themeOf();
  root.dataset.theme = app.theme;
  const style = getComputedStyle(root), colour = (name) => style.getPropertyValue(`--ax-${name}`).trim();
  app.colours = Object.fromEntries(
    ["ink", "quiet", "edge", "accent", "line", "gold", "veil", "hatch", "spot"]
      .map((name) => [name, colour(name)]),
  );
}

// Follow the page's theme and width; returns how to stop.
function watch(app) {
  const redress = () => { if (themeOf() !== app.theme) update(app, true); };
  const watcher = new MutationObserver(redress);
  for (const node of [document.body, document.documentElement]) watcher.observe(node, { attributes: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", redress);
  const resized = new ResizeObserver(() => {
    const width = app.root.clientWidth;
    if (width && (app.missed || Math.abs(width - app.laidOut) > 4)) update(app, true);
  });
  resized.observe(app.root);
  return () => {
    watcher.disconnect();
    resized.disconnect();
    scheme.removeEventListener("change", redress);
  };
}

function readTraits(app) {
  const { model, state } = app;
  for (const name of TRAITS) state[name] = model.get(name);
  state.panel = named(app, model.get("block"));
  const { M, N } = app.panels[state.panel]; // of a shorter block the kernel will let go of them too
  if (state.token >= M) state.token = null;
  if (state.key >= N) state.key = null;
}

// Follow the traits that a cell sets; returns how to stop.
function listen(app) {
  const { model, state } = app;
  const follow = () => {
    const before = { ...state }, changed = (name) => state[name] !== before[name];
    readTraits(app);
    if (!Object.keys(state).some(changed)) return; // it was we who set it
    app.hover = null;
    app.parts.tip.hidden = true;
    update(app, ["view", "sort", "difference", "all_heads"].some(changed));
  };
  for (const name of [...TRAITS, "block"]) model.on(`change:${name}`, follow);
  return () => { for (const name of [...TRAITS, "block"]) model.off(`change:${name}`, follow); };
}

const named = (app, name) => Math.max(0, app.panels.findIndex((panel) => panel.name === name));

// All that needs no place on the page: a notebook begins with it while its kernel is still at work.
async function prepare(model, raw = inflate(toBytes(model.get("data")))) {
  const meta = model.get("meta");
  const root = make("div", { className: "ax" });
  // Keys typed here are ours, not JupyterLab's. Notebook 7 asks the very element that has the focus.
  const keep = (node) => node.setAttribute("data-lm-suppress-shortcuts", "true");
  keep(root);
  root.addEventListener("focusin", (event) => keep(event.target));
  const app = {
    model,
    root,
    grid: meta.grid,
    hover: null,
    figures: [],
    counts: [],
    waiting: 0,
    again: false,
    laidOut: 0,
  };
  app.panels = meta.panels.map(describePanel);
  app.flow = app.panels.findIndex((panel) => panel.flow); // the rollout, for pictures only
  app.state = {};
  readTraits(app);
  layOut(app, meta.title);
  serve(app);
  attachKeys(app);
  makeControls(app);
  fillPanels(app.panels, new Uint8Array(await raw));
  if (meta.grid) app.picture = await picture(toBytes(model.get("picture")));
  return app;
}

function show(app, model, el) {
  app.model = model; // a notebook has another one for each view
  readTraits(app); // a cell may have set some since
  app.controls();
  el.append(app.root);
  const stops = [watch(app), listen(app)];
  if (app.root.clientWidth) {
    build(app);
    paintAll(app);
  } else update(app, true); // notebooks put a view on the page only when it is made
  return () => {
    for (const stop of stops) stop();
    cancelAnimationFrame(app.waiting);
    app.root.remove();
  };
}

const picture = (bytes) => createImageBitmap(new Blob([bytes], { type: "image/png" }));

export { prepare, render };
