// What anywidget calls.  A saved page has no kernel to wait for, and calls `render` itself.
// @ts-check

import { prepare, render } from "./main.js";

// Begun while the kernel still draws its picture.  By the bytes as they came: every view has a model
// object of its own.  The first view takes what was begun, others make their own.
const begun = new WeakMap();

export default {
  initialize({ model }) {
    const key = model.get("data");
    if (!key) return; // lost on its way: `render` says so
    const prepared = prepare(model);
    prepared.catch(() => {}); // `render` complains
    begun.set(key, prepared);
    setTimeout(() => begun.delete(key), 10000); // no view came: let go of the memory
  },
  render({ model, el }) {
    const key = model.get("data"), prepared = begun.get(key);
    begun.delete(key);
    return render({ model, el, prepared });
  },
};
