// The colours of weights and heads, for light and dark pages.
// @ts-check

// From nothing to everything, lightness changing one way only: safe without colour vision.
export const RAMP = {
  light: ["#ffffff", "#dcebf5", "#a9cfe5", "#62a3cf", "#2b6fae", "#134583", "#0a2350"],
  dark: ["#1b1e24", "#1d3450", "#22587f", "#2f83a6", "#5db4b5", "#b3dcb0", "#fdf8cf"],
};
// Difference of two maps: orange = less here, blue = more here.
export const SPLIT = {
  light: ["#7a2e04", "#d9772b", "#f6d3b3", "#ffffff", "#c3dcee", "#4a8fc4", "#0a2f63"],
  dark: ["#ffc48a", "#d9772b", "#6b3d1d", "#1b1e24", "#1d4468", "#4a97cc", "#c4e3f8"],
};
export const HEAD_COLOURS = [
  "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
  "#6a51a3", "#8c6d31", "#17a2a2", "#b2182b", "#7f7f7f", "#66a61e",
];
export const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

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
export function tableOf(stops) {
  if (!TABLES.has(stops)) TABLES.set(stops, table256(stops));
  return TABLES.get(stops);
}

export function themeOf() {
  const { body, documentElement: html } = document;
  const told = body.dataset.jpThemeLight; // JupyterLab, Notebook, nbconvert
  if (told) return told === "false" ? "dark" : "light";
  const kind = body.dataset.vscodeThemeKind; // VS Code, high contrast too
  if (kind) return kind.endsWith("light") ? "light" : "dark";
  const named = html.getAttribute("theme"); // Colab
  if (named === "dark" || named === "light") return named;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Black or white, whichever can be read better on a colour (as a pixel: 0xAABBGGRR).
export function inkOn(pixel) {
  const light = [pixel, pixel >> 8, pixel >> 16].map((c) => ((c & 255) / 255) ** 2.2);
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.18 ? "#14171c" : "#ffffff";
}
