// Thousands of curves as one picture: what the view "lines" is painted with.
// @ts-check

export const THICK = 8; // pixels of a line of weight 1

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

export function rasterise(image, heads, M, N, step, coarse) {
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
export function linesOf({ cells, thick, from, to, first, last }, N) {
  let count = 0;
  for (let q = from; q < to; q++) {
    for (let k = first; k < last; k++) if (thick[cells[q * N + k]] > 0) count++;
  }
  return count;
}

// One head's lines in one column; `shift` lets the heads of a layer run side by side.
export function cover({ cells, shift, thick, from, to, first, last }, column, M, N, edge, dust) {
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
