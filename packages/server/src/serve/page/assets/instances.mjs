/** The instances that changed last, whichever machine they are of. */
import { ask } from "./asking.mjs"
import { beginning, byId, element, instanceLink, renew, renewWith, statusBadge, time } from "./elements.mjs"
import { Latest } from "./latest.mjs"

const shown = 20

export class Instances {
  #place = byId("instances")
  #rows = element("tbody")
  #table = element(
    "table",
    {},
    element(
      "thead",
      {},
      element("tr", {}, ...["Instance", "Machine", "State", "Status", "Changed"].map((title) => element("th", { scope: "col" }, title))),
    ),
    this.#rows,
  )
  #latest = new Latest(ask, shown)

  /**
   * @param {number} now
   * @returns {Promise<ReadonlyArray<string>>} the machines of those that changed last
   */
  async look(now) {
    const instances = await this.#latest.look(now)
    if (instances.length === 0)
      renewWith(this.#place, beginning("Nothing was started yet. Make a project with a machine of your own:", "npx detent init shop"))
    else if (!this.#place.contains(this.#table)) this.#place.replaceChildren(this.#table)
    renew(this.#rows, instances, ({ machine, id }) => JSON.stringify([machine, id]), row)
    return instances.map(({ machine }) => machine)
  }
}

/** @param {import("./latest.mjs").Listing} listing */
const row = ({ machine, id, state, status, outcome, reason, updatedAt }) =>
  element(
    "tr",
    {},
    element("td", { class: "name" }, instanceLink(machine, id, id)),
    element("td", { class: "name", "data-label": "Machine" }, machine),
    element("td", { class: "name", "data-label": "State" }, state),
    element("td", { title: reason, "data-label": "Status" }, statusBadge(status, outcome)),
    element("td", { class: "when", "data-label": "Changed" }, time(updatedAt)),
  )
