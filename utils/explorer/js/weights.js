// From bytes to weights, and what is asked of them: the inverse of encode.py.
// Everywhere: q = query = row, k = key = column.
// @ts-check

import { number } from "./pieces.js";

export const toBytes = (value) => {
  if (typeof value === "string") return Uint8Array.from(atob(value), (c) => c.charCodeAt(0));
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return value ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array();
};

export function inflate(bytes) {
  const { readable, writable } = new DecompressionStream("deflate-raw"), pen = writable.getWriter();
  for (const done of [pen.write(bytes), pen.close()]) done.catch(() => {}); // `readable` fails too
  return new Response(readable).arrayBuffer();
}

// What is known of a panel before its weights are there.
/** @param {Entry} entry */
export function describePanel(entry) {
  const [L, H, M, N] = entry.shape;
  const keys = entry.keys || entry.queries, top = 1000 * entry.m;
  const panel = /** @type {Panel} */ ({ ...entry, L, H, M, N, keys, top });
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
/** @param {Panel[]} panels @param {Uint8Array} raw */
export function fillPanels(panels, raw) {
  let at = 0;
  for (const panel of panels) {
    const { L, H, M, N } = panel;
    panel.plane = raw.subarray(at, (at += L * H * M * N));
    panel.mask = panel.masked ? raw.subarray(at, (at += M * N)) : null;
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
/** @param {Panel} panel @param {number} layer */
export function unpack(panel, layer) {
  const { large, H, M, N } = panel, size = M * N, bytes = bytesOf(panel, layer);
  // Copied and searched natively: a loop takes four times as long.
  const steps = new Uint16Array(bytes), list = large[layer];
  for (let i = bytes.indexOf(255), j = 0; i >= 0; i = bytes.indexOf(255, i + 1), j += 2) {
    steps[i] = list[j] | (list[j + 1] << 8);
  }
  return Array.from({ length: H }, (_, head) => steps.subarray(head * size, (head + 1) * size));
}

// A step is an odd part of a thousandth: rounding to thousandths is exact, see encode.py.
export const threeDecimals = (weight) => (Math.round(weight * 1000 + 1e-9) / 1000).toFixed(3);

// Of these heads the one in which q looks at k the most.
/** @param {Panel} panel @param {number} layer @param {number[]} heads @param {number} q @param {number} k */
export function loudest(panel, layer, heads, q, k) {
  let best = heads[0];
  for (const head of heads) {
    if (panel.weight(layer, head, q, k) > panel.weight(layer, best, q, k)) best = head;
  }
  return best;
}

// The two strongest links of a query (k is null) or a key (q is null), in whichever of these heads.
/** @param {Panel} panel @param {number} layer @param {number[]} heads @param {number} q @param {number} k */
export function strongest(panel, layer, heads, q, k) {
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

// What the two numbers on the screen differ by.
/** @param {Panel} panel @param {Panel} other @param {number} q @param {number} k */
export const difference = (panel, other, s, q, k) =>
  Math.round(
    1000 * (Number(panel.text(s.layer, s.head, q, k)) - Number(other.text(s.layer, s.head, q, k))),
  ) / 1000;
export const signed = (gap) => (gap ? (gap < 0 ? "−" : "+") : "") + Math.abs(gap).toFixed(3);
