// The sentence and the note under the picture, and the table of weights.
// @ts-check

import { label, limit, make, number, word } from "./pieces.js";
import { difference, loudest, signed, strongest } from "./weights.js";

// The sentence and the note under the picture.
/** @param {App} app */
export function speak(app) {
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
      parts.push(word(panel.keys[k]), " is looked at most by ", word(panel.queries[best.q]), ...value(best));
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
  const at = `layer ${panel.at(state).layer}`, whose = panel.name ? `${label(panel.name, 30)}, ` : "";
  const where = rolled ? `rollout up to ${at}` : `${whose}${at}, ${all ? "all heads" : `head ${heads[0]}`}`;
  sentence.replaceChildren(make("span", { className: "ax-where" }, where), " ", ...parts);
  const notes = [];
  if (state.view === "lines") {
    const drawn = counts.reduce((sum, c) => sum + (c ? c[0] : 0), 0);
    const most = counts.reduce((sum, c) => sum + (c ? c[1] : 0), 0);
    const hidden = most - drawn;
    // Less than a step is no line.
    const least = Math.max(state.threshold, ...app.panels.map((p) => 0.5 / p.top));
    const under = `under ${limit(least)}`;
    const rest = hidden === 1 ? `1 weight ${under} is` : `${number(hidden)} weights ${under} are`;
    const lines = most === 1 ? "line" : "lines";
    notes.push(`${number(drawn)} of ${number(most)} ${lines} drawn; ${rest} hidden.`);
  } else if (state.view !== "image" && state.view !== "words") {
    notes.push("Rows are queries (who looks), columns are keys (what is looked at).");
  } else {
    notes.push("Bright patches are looked at; each picture is scaled to its own largest weight.");
  }
  const broken = rolled || all ? 0 : panel.broken(layer, heads[0]);
  if (broken === 1) notes.push("1 weight that the mask forbids is not 0.");
  else if (broken) notes.push(`${number(broken)} weights that the mask forbids are not 0.`);
  if (panel.gold.length && !all) {
    const rows = new Set(panel.gold.map(([a]) => a)), weight = (a, b) => panel.weight(layer, heads[0], a, b);
    // 2: looks nowhere.
    const most = new Map([...rows].map((a) => [a, strongest(panel, layer, heads, a, null)[0].weight || 2]));
    // Of equals each counts.
    const right = new Set(panel.gold.filter(([a, b]) => weight(a, b) >= most.get(a)).map(([a]) => a)).size;
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

/** @param {App} app */
export function fillTable(app) { // only when it is open and would say something else: a reader keeps the place
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
  const minus = other ? ` minus ${label(other.name, 40)}` : "", from = whose + minus + (whose ? ", " : "");
  const place = index === app.flow ? `rollout up to layer ${layer}` : `${from}layer ${layer}, head ${head}`;
  const who = label(panel.queries[rows[0]], 60), looks = other ? "changes most at" : "looks at most";
  const listed = `the ${body.length - 1} keys that ${who} ${looks}`;
  const about = whole ? "each row is a query, each column a key" : listed;
  table.querySelector(".ax-scroll").replaceChildren(
    make("table", {}, make("caption", {}, `${place}: ${about}`), make("tbody", {}, ...body)),
  );
}
