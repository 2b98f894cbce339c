// What the modules hand to each other: for the type checker, nothing of it reaches the page.

type Name = "view" | "layer" | "head" | "token" | "key" | "threshold" | "sort" | "all_heads" | "difference";

/** A notebook's model, or what a saved page has in its place. */
interface Model {
  get(name: string): any;
  set(name: string, value: any): void;
  save_changes(): void;
  on(event: string, then: () => void): void;
  off(event: string, then: () => void): void;
}

/** What Python tells of a block: see `_describe` in explorer.py. */
interface Entry {
  name: string;
  shape: [number, number, number, number];
  flow: boolean;
  compared: boolean;
  partner: number | null;
  m: number;
  masked: boolean;
  queries: string[];
  keys?: string[];
  gold: [number, number][];
  escaped: number[];
  measures?: { entropy: number[]; distance: number[] };
}

/** A block with its weights: L layers, H heads, M queries, N keys. */
interface Panel extends Entry {
  L: number;
  H: number;
  M: number;
  N: number;
  top: number;
  shade: Uint8Array;
  goldSet: Set<number>;
  tokens: string;
  plane: Uint8Array;
  mask: Uint8Array | null;
  large: Uint8Array[];
  layers: Uint16Array[][];
  at(chosen: { layer: number; head: number }): { layer: number; head: number };
  cells(layer: number, head: number): Uint16Array;
  broken(layer: number, head: number): number;
  row(layer: number, head: number, q: number): Uint16Array;
  weight(layer: number, head: number, q: number, k: number): number;
  text(layer: number, head: number, q: number, k: number): string;
}

/** What is chosen; `panel` is the number of the chosen block. */
interface State {
  view: string;
  panel: number;
  layer: number;
  head: number;
  token: number | null;
  key: number | null;
  threshold: number;
  sort: string;
  all_heads: boolean;
  difference: boolean;
}

/** A row, a column or both. */
interface Place {
  q: number | null;
  k: number | null;
}

interface Figure {
  node: HTMLElement;
  paint(): void;
  width: number;
}

interface App {
  model: Model;
  root: HTMLElement;
  grid?: [number, number];
  picture?: ImageBitmap;
  panels: Panel[];
  flow: number;
  state: State;
  hover: (Place & { panel: number }) | null;
  figures: Figure[];
  namers: (() => void)[];
  counts: [number, number][];
  parts: Record<"bar" | "stage" | "sentence" | "note" | "tip", HTMLElement> & { table: HTMLDetailsElement };
  theme: "light" | "dark";
  colours: Record<string, string>;
  waiting: number;
  again: boolean;
  missed: boolean;
  placing: boolean;
  laidOut: number;
  tabled: string;
  comparable: boolean;
  controls(): void;
  chosen(index: number): Place;
  mark(index: number): Place;
  partner(index: number): Panel | null;
  count(index: number, drawn: number, all: number): void;
  framed(panel: Panel, ...nodes: HTMLElement[]): HTMLElement;
  focus(): number;
  choose(name: Name, value: any): void;
  set(changes: Partial<State>): void;
  update(rebuild?: boolean): void;
}
