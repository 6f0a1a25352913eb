/** Makes and renews what is on the page. Whatever comes from the server becomes text, never markup. */

/**
 * @typedef {Node | string | number} Child
 * @typedef {Readonly<Record<string, string | undefined>>} Attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(attribute, value)
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))))
  return made
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}

/**
 * Renews the children of an element. Those that stay are kept as they are, with their focus and place, and only those that look
 * different are replaced.
 *
 * @template Item
 * @param {Element} parent
 * @param {ReadonlyArray<Item>} items
 * @param {(item: Item) => string} keyOf
 * @param {(item: Item) => Element} make
 */
export function renew(parent, items, keyOf, make) {
  const before = new Map([...parent.children].map((child) => [child.getAttribute("data-key"), child]))
  const children = items.map((item) => {
    const key = keyOf(item)
    const fresh = make(item)
    fresh.setAttribute("data-key", key)
    const known = before.get(key)
    if (known === undefined) return fresh
    merge(known, fresh)
    return known
  })
  const isSame = children.length === parent.childNodes.length && children.every((child, index) => parent.childNodes[index] === child)
  if (!isSame) placeAll(parent, children)
}

/**
 * Says one thing, in place of a list.
 *
 * @param {Element} parent
 * @param {Element} content
 */
export const renewWith = (parent, content) =>
  renew(
    parent,
    [content],
    () => "",
    () => content,
  )

/**
 * Moving an element takes its focus away, so only those that are out of place are moved.
 *
 * @param {Element} parent
 * @param {ReadonlyArray<Element>} children
 */
function placeAll(parent, children) {
  const staying = new Set(/** @type {ReadonlyArray<Node>} */ (children))
  for (const child of [...parent.childNodes]) if (!staying.has(child)) child.remove()
  const active = document.activeElement
  for (const [index, child] of children.entries()) {
    const there = parent.childNodes[index] ?? null
    if (there !== child) parent.insertBefore(child, there)
  }
  if (active instanceof HTMLElement && active !== document.activeElement && parent.contains(active)) active.focus({ preventScroll: true })
}

/**
 * Makes one element look like another, by its attributes and text.
 *
 * @param {Element} known
 * @param {Element} fresh
 */
function merge(known, fresh) {
  if (known.isEqualNode(fresh)) return
  // What its reader opened stays open.
  for (const { name } of [...known.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) known.removeAttribute(name)
  for (const { name, value } of fresh.attributes) if (known.getAttribute(name) !== value) known.setAttribute(name, value)
  const isAlike =
    known.childNodes.length === fresh.childNodes.length &&
    [...known.childNodes].every((child, index) => child.nodeName === fresh.childNodes[index]?.nodeName)
  if (!isAlike) {
    known.replaceChildren(...fresh.childNodes)
    return
  }
  for (const [index, child] of [...known.childNodes].entries()) {
    const other = fresh.childNodes[index]
    if (child instanceof Element && other instanceof Element) merge(child, other)
    else if (other !== undefined && child.nodeValue !== other.nodeValue) child.nodeValue = other.nodeValue
  }
}

/** @param {number} count */
export const inWords = (count) => count.toLocaleString("en")

/**
 * How long ago, in few characters.
 *
 * @param {number} at
 * @param {number} now
 */
export function ago(at, now) {
  const seconds = Math.round((now - at) / 1000)
  if (seconds < 0) return `in ${span(-seconds)}`
  return seconds < 2 ? "now" : `${span(seconds)} ago`
}

/** @param {number} seconds */
function span(seconds) {
  const minutes = Math.round(seconds / 60)
  const hours = Math.round(seconds / 3600)
  if (seconds < 60) return `${seconds} s`
  if (minutes < 60) return `${minutes} min`
  return hours < 48 ? `${hours} h` : `${Math.round(seconds / 86_400)} days`
}

/** @param {number} at */
export const time = (at) =>
  element("time", { datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString() }, ago(at, Date.now()))

/** The words of all times on the page, as they are by now. */
export function renewTimes() {
  const now = Date.now()
  for (const one of document.querySelectorAll("time")) {
    const words = ago(Date.parse(one.dateTime), now)
    if (one.textContent !== words) one.textContent = words
  }
}

/**
 * What a state, a status or a count of failures means at a glance.
 *
 * @param {string} text
 * @param {"calm" | "busy" | "good" | "bad"} tone
 */
export const badge = (text, tone) => element("span", { class: `badge ${tone}` }, text)

/**
 * The tone of an instance's status.
 *
 * @param {string} status
 */
export function toneOf(status) {
  if (status === "held" || status === "failed") return "bad"
  if (status === "running" || status === "processing" || status === "pending") return "busy"
  return status === "final" || status === "completed" ? "good" : "calm"
}

/**
 * The status of an instance; `failed` where it ended in a final state of failure.
 *
 * @param {string} status
 * @param {"failure" | undefined} outcome
 */
export const statusBadge = (status, outcome) => (outcome === "failure" ? badge("failed", "bad") : badge(status, toneOf(status)))

/**
 * Opens the instance on the page.
 *
 * @param {string} machine
 * @param {string} id
 * @param {string} text
 */
export const instanceLink = (machine, id, text) =>
  element("a", { href: `#instance/${encodeURIComponent(machine)}/${encodeURIComponent(id)}`, title: `${machine}/${id}` }, text)

/**
 * How to begin, where there is nothing yet: a line to copy.
 *
 * @param {string} says
 * @param {string} line
 */
export function beginning(says, line) {
  const copy = element("button", { type: "button", class: "copy", "data-line": line, "aria-label": `Copy: ${line}` }, "Copy")
  return element("div", { class: "empty" }, element("p", {}, says), element("p", { class: "line" }, element("code", {}, line), copy))
}

/**
 * One listener for all lines, so that a renewed one works like the one before.
 *
 * @param {MouseEvent} event
 */
export async function copyLine({ target }) {
  if (!(target instanceof HTMLButtonElement) || target.dataset["line"] === undefined) return
  try {
    await navigator.clipboard.writeText(target.dataset["line"])
    target.textContent = "Copied"
  } catch {
    // Without https a page may not copy: the line is marked for its reader to do it.
    const line = target.previousElementSibling
    if (line !== null) getSelection()?.selectAllChildren(line)
  }
}

/**
 * The errors of executions before the last one, whose error is the command's problem.
 *
 * @param {ReadonlyArray<{ readonly attempt: number, readonly at: number, readonly problem: string }> | undefined} errors
 * @param {string | undefined} problem
 */
export const earlierErrors = (errors = [], problem) =>
  errors
    .slice(0, errors.at(-1)?.problem === problem ? -1 : undefined)
    .map((one) => element("p", { class: "faint" }, `attempt ${one.attempt}: ${one.problem} `, time(one.at)))
