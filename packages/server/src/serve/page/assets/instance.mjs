/** One instance, opened from the page: its state, what waits for it, and how it came there. It is renewed for as long as it is open. */
import { ask, pathOf, Refused } from "./asking.mjs"
import { badge, byId, earlierErrors, element, renew, statusBadge, time, toneOf } from "./elements.mjs"
import { drawingOf } from "./machines.mjs"

/**
 * @typedef {typeof import("../../../instances/Api.ts").InstanceView.Type} View
 * @typedef {typeof import("../../../instances/Api.ts").HistoryEntry.Type} Entry
 * @typedef {typeof import("../../../instances/Api.ts").Timer.Type} Timer
 * @typedef {typeof import("../../../commands/StoredCommand.ts").StoredCommand.Type} Command
 */

/** So many of the latest events are shown. */
const shown = 100

export class Instance {
  #dialog = /** @type {HTMLDialogElement} */ (byId("instance"))
  /** @type {readonly [machine: string, id: string] | undefined} */
  #key
  #seen = ""
  /** @type {Element | undefined} */
  #picture

  constructor() {
    this.#dialog.addEventListener("close", () => {
      this.#key = undefined
      if (location.hash.startsWith("#instance/")) history.replaceState(null, "", location.pathname + location.search)
    })
    this.#dialog.addEventListener("click", ({ target }) => {
      // The dialog itself is hit only beside what it shows.
      if (target === this.#dialog || (target instanceof Element && target.closest(".close") !== null)) this.#dialog.close()
    })
  }

  /** Opens what the address names. */
  async open() {
    const [machine, id] = namedBy(location.hash)
    if (machine === undefined || id === undefined) {
      this.#dialog.close()
      return
    }
    this.#key = [machine, id]
    this.#seen = ""
    this.#picture = undefined
    this.#renew([headOf(machine, id), element("p", { class: "faint" }, "Asking…")])
    if (!this.#dialog.open) this.#dialog.showModal()
    await this.look()
  }

  async look() {
    const key = this.#key
    if (key === undefined) return
    const [machine, id] = key
    try {
      /** @type {View} */
      const view = await ask(pathOf(["instances", machine, id]))
      const [{ commands }, { timers }] = await Promise.all([
        /** @type {Promise<{ readonly commands: ReadonlyArray<Command> }>} */ (ask(pathOf(["instances", machine, id, "commands"]))),
        /** @type {Promise<{ readonly timers: ReadonlyArray<Timer> }>} */ (ask(pathOf(["instances", machine, id, "timers"]))),
      ])
      const seen = JSON.stringify([view, commands, timers])
      if (key !== this.#key || seen === this.#seen) return
      this.#seen = seen
      /** @type {{ readonly entries: ReadonlyArray<Entry> }} */
      const { entries } = await ask(
        pathOf(["instances", machine, id, "history"], { after: Math.max(0, view.sequence - shown), limit: shown }),
      )
      const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
      const picture = this.#picture ?? part("Its machine", element("figure", { class: "drawing" }, await drawingOf(machine, theme)))
      // Another one may have been opened meanwhile.
      if (key !== this.#key) return
      this.#picture = picture
      this.#show(view, entries, timers, commands, picture)
    } catch (problem) {
      if (key !== this.#key) return
      this.#seen = ""
      this.#renew([headOf(machine, id), element("p", {}, textOf(problem))])
    }
  }

  /**
   * @param {View} view
   * @param {ReadonlyArray<Entry>} entries
   * @param {ReadonlyArray<Timer>} timers
   * @param {ReadonlyArray<Command>} commands
   * @param {Element} picture
   */
  #show(view, entries, timers, commands, picture) {
    const { machine, id, state, status, outcome, reason, startedAt, updatedAt, sequence } = view
    const { _tag: tag, ...fields } = state
    const before =
      entries.length < sequence ? [element("p", { class: "faint" }, `The latest ${entries.length} of ${sequence} events.`)] : []
    this.#renew([
      headOf(machine, id),
      element(
        "p",
        { class: "card-head" },
        element("b", {}, tag),
        statusBadge(status, outcome),
        element("span", { class: "faint" }, "changed ", time(updatedAt)),
      ),
      ...(reason === undefined ? [] : [element("p", { class: "problem" }, reason)]),
      wayOf(entries, tag),
      part("State", Object.keys(fields).length === 0 ? nothing("It has no fields.") : fieldsOf(fields)),
      part(
        "Timers",
        timers.length === 0 ? nothing("None is waiting.") : list(timers, ({ name, due }) => [element("b", {}, name), time(due)]),
      ),
      part("Commands", commands.length === 0 ? nothing("None was requested.") : list(commands, commandOf)),
      part(
        "History",
        ...before,
        element("ol", { class: "history", reversed: "" }, ...entries.toReversed().map(entryOf), startOf(entries, tag, startedAt)),
      ),
      picture,
    ])
  }

  /**
   * Each part stays what it is, with its focus and whatever was opened in it.
   *
   * @param {ReadonlyArray<Element>} parts
   */
  #renew(parts) {
    renew(
      this.#dialog,
      parts,
      (one) => `${one.localName} ${one.querySelector("h3")?.textContent ?? one.className}`,
      (one) => one,
    )
  }
}

/**
 * @param {string} hash
 * @returns {ReadonlyArray<string>} a machine and an id; nothing where it names something else
 */
function namedBy(hash) {
  const [kind, ...names] = hash.slice(1).split("/")
  if (kind !== "instance" || names.length !== 2) return []
  try {
    return names.map(decodeURIComponent)
  } catch {
    // Somebody wrote the address by hand, with a stray %.
    return []
  }
}

/**
 * @param {string} machine
 * @param {string} id
 */
const headOf = (machine, id) =>
  element(
    "header",
    {},
    element("h2", { id: "instance-title" }, element("span", { class: "faint" }, `${machine} / `), id),
    element("button", { type: "button", class: "close", "aria-label": "Close" }, "×"),
  )

/**
 * @param {string} title
 * @param {...Node} content
 */
const part = (title, ...content) => element("section", {}, element("h3", {}, title), ...content)

/** @param {string} text */
const nothing = (text) => element("p", { class: "faint" }, text)

/** @param {Readonly<Record<string, unknown>>} fields */
const fieldsOf = (fields) =>
  element("dl", {}, ...Object.entries(fields).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, valueOf(value))]))

/** @param {unknown} value */
function valueOf(value) {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value : JSON.stringify(value)
  return element("pre", {}, JSON.stringify(value, null, 2))
}

/**
 * @template A
 * @param {ReadonlyArray<A>} items
 * @param {(item: A) => ReadonlyArray<Node>} contentOf
 */
const list = (items, contentOf) => element("ul", { class: "plain" }, ...items.map((item) => element("li", {}, ...contentOf(item))))

/** @param {Command} command */
const commandOf = ({ slot, status, attempts, problem, errors, finishedAt, enqueuedAt }) => [
  element("b", {}, slot),
  badge(status === "handled" ? "failed, handled" : status, toneOf(status)),
  element("span", { class: "faint" }, attempts > 1 ? `${attempts} attempts` : ""),
  time(finishedAt ?? enqueuedAt),
  ...(problem === undefined ? [] : [element("p", { class: "problem" }, problem)]),
  ...earlierErrors(errors, problem),
]

/** @param {Entry} entry */
function entryOf({ sequence, at, event, from, state }) {
  const { _tag: tag, ...fields } = event
  const head = [
    element("b", {}, tag === "@timeout" ? `(${fields["name"]})` : tag),
    element("span", { class: "faint" }, from === state._tag ? `stays in ${from}` : `${from} → ${state._tag}`),
    time(at),
  ]
  const isBare = Object.keys(fields).length === 0
  return element(
    "li",
    { value: String(sequence) },
    isBare
      ? element("p", { class: "card-head" }, ...head)
      : element("details", {}, element("summary", { class: "card-head" }, ...head), fieldsOf(fields)),
  )
}

/**
 * @param {ReadonlyArray<Entry>} entries
 * @param {string} current
 * @param {number} at
 */
function startOf(entries, current, at) {
  const isWhole = (entries[0]?.sequence ?? 1) === 1
  return isWhole
    ? element(
        "li",
        { value: "0" },
        element(
          "p",
          { class: "card-head" },
          element("b", {}, "started"),
          element("span", { class: "faint" }, `in ${entries[0]?.from ?? current}`),
          time(at),
        ),
      )
    : ""
}

/**
 * The states it went through, each once for each time it was entered from another.
 *
 * @param {ReadonlyArray<Entry>} entries
 * @param {string} current
 */
function wayOf(entries, current) {
  const all = [entries[0]?.from ?? current, ...entries.map(({ state }) => state._tag)]
  const way = all.filter((state, index) => state !== all[index - 1])
  return element(
    "ol",
    { class: "way", "aria-label": "Its way" },
    ...way.map((state, index) => element("li", { class: index === way.length - 1 ? "state here" : "state" }, state)),
  )
}

/** @param {unknown} problem */
const textOf = (problem) => (problem instanceof Refused ? problem.message : "The server does not answer at the moment.")
