// Small helpers on the document. Text from outside only ever becomes text, never markup.

/** Return the element with this id; a missing one is a mistake of the page itself. */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
}

/** Return a new element with a class and a text. */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** Set a text if it is another one: unchanged text costs no layout and is not read out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set the tone (colour) of an element if it is another one. */
export function setTone(node, tone) {
  if (node.dataset.tone !== tone) node.dataset.tone = tone;
}

/** Show or hide an element. */
export function setShown(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

/**
 * Make a row of buttons of which one is chosen.
 * `options` are [value, text]; `chosen(value)` is called for the first one chosen too.
 */
export function choice(place, options, value, chosen) {
  const buttons = options.map(([own, text]) => {
    const button = element("button", "small", text);
    button.type = "button";
    button.addEventListener("click", () => choose(own));
    place.append(button);
    return [own, button];
  });
  function choose(wanted) {
    for (const [own, button] of buttons) button.setAttribute("aria-pressed", String(own === wanted));
    chosen(wanted);
  }
  choose(value);
}

/** Return what this browser remembers under a name, or `otherwise`. */
export function remembered(name, otherwise) {
  try {
    const kept = JSON.parse(localStorage.getItem(`mastd.${name}`));
    return kept === null ? otherwise : kept;
  } catch {
    return otherwise;
  }
}

/** Let this browser remember a value; browsers that refuse it just forget. */
export function remember(name, value) {
  try {
    localStorage.setItem(`mastd.${name}`, JSON.stringify(value));
  } catch {
    // A convenience only.
  }
}
