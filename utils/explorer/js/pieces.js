// Small pieces that every part builds with: nodes, labels, canvases.
// @ts-check

// A token as one line: what cannot be seen is made visible, what is too long is cut.
export function label(token, longest = 40) {
  // All that leaves no ink becomes a dot, but for joiners, from which letters take their shape:
  // as in snapshot.py.
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
/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, any>} [properties] @param {(string | Node)[]} children
 */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
export const word = (token, longest = 60) => make("bdi", { className: "ax-word" }, label(token, longest));
export const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ","); // 12,288
// The rest are the browser's.
export const plainKey = (event) =>
  !(event.ctrlKey || event.metaKey || event.altKey) || event.getModifierState("AltGraph");
// In five decimals, never less than it is.
export const limit = (value) => +(Math.ceil(value * 1e5 - 1e-6) / 1e5).toFixed(5);
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

export function fit(canvas, width, height) {
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
export function put(node, left, top, width, height) {
  for (const [name, value] of Object.entries({ left, top, width, height })) {
    if (value != null) node.style[name] = `${value}px`;
  }
}

export const scratch = (width, height) => Object.assign(document.createElement("canvas"), { width, height });
export const FONT =
  'system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "Noto Sans Arabic", sans-serif';

export function shorten(pen, text, room) {
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

// Scroll a box until a piece of it is in its middle, if it cannot be seen.
/** @param {Element} box @param {{top: number, bottom: number, left?: number, right?: number}} piece */
export function reveal(box, { top, bottom, left, right }) {
  const seen = box.getBoundingClientRect();
  if (top < seen.top || bottom > seen.bottom) box.scrollTop += (top + bottom - seen.top - seen.bottom) / 2;
  if (left < seen.left || right > seen.right) box.scrollLeft += (left + right - seen.left - seen.right) / 2;
}

// Of an event, or a node: the browser's types know less than we do.
export const matches = (event, names) => /** @type {Element} */ (event.target).matches(names);
export const focusOn = (node, preventScroll = false) =>
  /** @type {HTMLElement | null} */ (node)?.focus({ preventScroll });
