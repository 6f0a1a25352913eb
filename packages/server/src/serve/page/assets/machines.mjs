/** The machines, with how many instances are in each state, and the drawing of the one that is looked at. */
import { ask, askPicture, pathOf } from "./asking.mjs"
import { byId, element, inWords, renew, renewWith } from "./elements.mjs"

/** @typedef {typeof import("../../../machines/Api.ts").MachineListing.Type} Machine */

const darkness = matchMedia("(prefers-color-scheme: dark)")

export class Machines {
  /** @type {ReadonlyArray<Machine>} */
  #machines = []
  /** @type {string | undefined} */
  #chosen
  #drawn = ""
  #list = byId("machines")
  #figure = byId("drawing")

  constructor() {
    this.#list.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button") : null
      if (button !== null) this.choose(button.dataset["machine"] ?? "")
    })
    darkness.addEventListener("change", () => this.#draw())
  }

  /** @param {string} name */
  choose(name) {
    this.#chosen = name
    this.#show()
  }

  /**
   * The one to look at until somebody chooses.
   *
   * @param {ReadonlyArray<string>} names the best first
   */
  suggest(names) {
    const known = this.#machines.filter(({ kind }) => kind === "machine").map(({ name }) => name)
    this.#chosen ??= names.find((name) => known.includes(name)) ?? known[0]
    this.#show()
  }

  async look() {
    /** @type {{ readonly machines: ReadonlyArray<Machine> }} */
    const { machines } = await ask(pathOf(["machines"]))
    this.#machines = machines
  }

  #show() {
    if (this.#machines.length === 0) {
      renewWith(this.#list, element("p", { class: "faint" }, "No machine is known here."))
      return
    }
    renew(
      this.#list,
      this.#machines,
      ({ name }) => name,
      (machine) => row(machine, machine.name === this.#chosen),
    )
    void this.#draw()
  }

  /** A drawing changes only with the machine and the colours, so it is asked for once for each. */
  async #draw() {
    const machine = this.#machines.find(({ name }) => name === this.#chosen)
    if (machine === undefined) return
    const theme = darkness.matches ? "dark" : "light"
    const wanted = JSON.stringify([machine.name, theme])
    if (wanted === this.#drawn) return
    this.#drawn = wanted
    if (machine.kind === "effect-workflow") {
      this.#figure.replaceChildren(
        element("p", { class: "faint" }, "An Effect workflow is a procedure: it has executions, but no states to draw."),
      )
      return
    }
    try {
      const picture = await drawingOf(machine.name, theme)
      if (wanted === this.#drawn) this.#figure.replaceChildren(picture)
    } catch {
      // The next look tries again, and tells what is wrong with the server.
      if (wanted === this.#drawn) this.#drawn = ""
    }
  }
}

/**
 * @param {string} machine
 * @param {"light" | "dark"} theme
 */
export async function drawingOf(machine, theme) {
  const source = await askPicture(pathOf(["machines", machine, "diagram", "svg"], { theme }))
  const image = element("img", { src: source, alt: `The states and transitions of ${machine}` })
  await image.decode()
  URL.revokeObjectURL(source)
  return image
}

/**
 * @param {Machine} machine
 * @param {boolean} isChosen
 */
function row({ name, kind, states, counts }, isChosen) {
  const all = [...new Set([...states, ...Object.keys(counts)])].filter((state) => kind === "machine" || counts[state] !== undefined)
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return element(
    "button",
    { type: "button", class: "machine", "data-machine": name, "aria-pressed": String(isChosen) },
    element("span", { class: "machine-name" }, name),
    element("span", { class: "machine-total faint" }, total === 0 ? "none yet" : inWords(total)),
    element(
      "span",
      { class: "states" },
      ...all.map((state) =>
        element(
          "span",
          { class: (counts[state] ?? 0) === 0 ? "state idle" : "state" },
          element("span", {}, state),
          element("b", {}, inWords(counts[state] ?? 0)),
        ),
      ),
    ),
  )
}
