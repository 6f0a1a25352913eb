/** What was given up: commands that failed for good, and timers that could not be fired. */
import { ask, pathOf } from "./asking.mjs"
import { beginning, byId, earlierErrors, element, instanceLink, inWords, renew, renewWith, time } from "./elements.mjs"

/**
 * @typedef {typeof import("../../../commands/StoredCommand.ts").StoredCommand.Type} Command
 * @typedef {typeof import("../../../commands/Api.ts").DeadTimer.Type} Timer
 * @typedef {typeof import("../../../commands/Api.ts").Queue.Type} Queue
 */

const shown = 10

export class Failures {
  #place = byId("failures")

  async look() {
    /** @type {{ readonly queues: ReadonlyArray<Queue> }} */
    const { queues } = await ask(pathOf(["queues"]))
    const failed = queues.reduce((sum, { counts }) => sum + (counts["failed"] ?? 0), 0)
    /** @type {{ readonly commands: ReadonlyArray<Command> }} */
    const { commands } = failed === 0 ? { commands: [] } : await ask(pathOf(["commands"], { status: "failed", limit: shown }))
    /** @type {{ readonly timers: ReadonlyArray<Timer> }} */
    const { timers } = await ask(pathOf(["timers", "dead"], { limit: shown }))
    if (commands.length === 0 && timers.length === 0) {
      renewWith(this.#place, element("p", { class: "faint" }, "None: no command failed for good, and every timer could be fired."))
      return
    }
    const items = [
      ...commands.map((command) => ({ key: `command ${command.key}`, item: letterOfCommand(command) })),
      ...timers.map((timer) => ({ key: `timer ${timer.machine} ${timer.id} ${timer.name} ${timer.entry}`, item: letterOfTimer(timer) })),
      ...(failed > commands.length
        ? [{ key: "more", item: element("p", { class: "faint" }, `… and ${inWords(failed - commands.length)} more commands`) }]
        : []),
      ...(commands.length > 0
        ? [{ key: "again", item: beginning("When the cause is gone, execute them again:", "npx detent command retry --all") }]
        : []),
    ]
    renew(
      this.#place,
      items,
      ({ key }) => key,
      ({ item }) => item,
    )
  }
}

/** @param {Command} command */
const letterOfCommand = ({ key, slot, machine, id, attempts, problem, errors, finishedAt, enqueuedAt }) =>
  letter(
    slot,
    machine === undefined || id === undefined ? key : instanceLink(machine, id, `${machine}/${id}`),
    finishedAt ?? enqueuedAt,
    `${problem ?? "failed"} (${attempts === 1 ? "1 attempt" : `${attempts} attempts`})`,
    earlierErrors(errors, problem),
  )

/** @param {Timer} timer */
const letterOfTimer = ({ machine, id, name, due, problem }) =>
  letter(`timer ${name}`, instanceLink(machine, id, `${machine}/${id}`), due, problem)

/**
 * @param {string} what
 * @param {Node | string} of
 * @param {number} at
 * @param {string} problem
 * @param {ReadonlyArray<Node>} [earlier]
 */
const letter = (what, of, at, problem, earlier = []) =>
  element(
    "article",
    { class: "letter" },
    element("p", { class: "card-head" }, element("b", {}, what), element("span", { class: "name" }, of), time(at)),
    element("p", { class: "problem" }, problem),
    ...earlier,
  )
