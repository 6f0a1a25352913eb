/** The latest batches. Those that run are followed live, so that their progress moves while it happens. */
import { ask, follow, pathOf, Refused } from "./asking.mjs"
import { badge, beginning, byId, element, instanceLink, inWords, renew, renewWith, time } from "./elements.mjs"
import { Latest } from "./latest.mjs"

/**
 * @typedef {import("../../../batches/BatchStatus.ts").BatchStatus} Status
 * @typedef {import("./latest.mjs").Listing & { readonly standing: Status | Refused }} Batch
 */

const shown = 6

/** A browser opens six connections to a server; most of them are left for the rest of the page. */
const followed = 2

/** Where a batch stands is asked at most so often, in milliseconds, however much it tells. */
const pause = 300

export class Batches {
  #list = byId("batches")
  #latest = new Latest(ask, shown, "batch")
  /** @type {ReadonlyArray<Batch>} */
  #batches = []
  /** @type {Map<string, AbortController>} */
  #streams = new Map()

  /** @param {number} now */
  async look(now) {
    const listed = await this.#latest.look(now)
    const known = new Map(this.#batches.map((batch) => [batch.id, batch]))
    this.#batches = await Promise.all(
      listed.map(async (listing) => {
        const before = known.get(listing.id)
        return before?.updatedAt === listing.updatedAt ? before : { ...listing, standing: await standingOf(listing.id) }
      }),
    )
    this.#show()
    for (const { id, standing } of this.#batches) {
      const isRunning = !(standing instanceof Refused) && !standing.isTerminal
      if (isRunning && !this.#streams.has(id) && this.#streams.size < followed) void this.#follow(id)
    }
  }

  /** Nobody looks: nothing is followed. */
  rest() {
    for (const stream of this.#streams.values()) stream.abort()
    this.#streams.clear()
  }

  /** @param {string} id */
  async #follow(id) {
    const stream = new AbortController()
    this.#streams.set(id, stream)
    try {
      let askedAt = 0
      for await (const { event, data } of follow(pathOf(["batch", id, "events"]), stream.signal)) {
        if (event === "status") this.#stands(id, JSON.parse(data))
        else if (performance.now() - askedAt > pause) {
          this.#stands(id, await standingOf(id))
          askedAt = performance.now()
        }
      }
    } catch (problem) {
      // Without the stream the next look tells, and tries again; what is wrong with the server is told there.
      if (!stream.signal.aborted) console.warn(problem)
    }
    if (this.#streams.get(id) === stream) this.#streams.delete(id)
  }

  /**
   * @param {string} id
   * @param {Status | Refused} standing
   */
  #stands(id, standing) {
    this.#batches = this.#batches.map((batch) => (batch.id === id ? { ...batch, standing } : batch))
    this.#show()
  }

  #show() {
    const batches = this.#batches.toSorted((a, b) => b.startedAt - a.startedAt)
    if (batches.length === 0)
      renewWith(this.#list, beginning("Turn a folder of documents into a knowledge graph:", "npx detent batch run FOLDER"))
    else
      renew(
        this.#list,
        batches,
        ({ id }) => id,
        (batch) => (batch.standing instanceof Refused ? unreadable(batch, batch.standing) : card(batch.standing)),
      )
  }
}

/**
 * One that cannot be read does not keep the others from being shown.
 *
 * @param {string} id
 * @returns {Promise<Status | Refused>}
 */
async function standingOf(id) {
  try {
    return await ask(pathOf(["batch", id]))
  } catch (problem) {
    if (problem instanceof Refused && problem.status !== 401) return problem
    throw problem
  }
}

/**
 * @param {Batch} batch
 * @param {Refused} problem
 */
const unreadable = ({ id, state, startedAt }, problem) =>
  element(
    "article",
    { class: "card" },
    element("p", { class: "card-head" }, instanceLink("batch", id, id), badge(state, "bad"), time(startedAt)),
    element("p", { class: "problem" }, problem.message),
  )

/** @param {Status} status */
function card({ batchId, state, stage, percent, isTerminal, namespace, documents, entities, relations, createdAt, failure, outcome }) {
  const { total, completed, failed } = documents
  const figures = [
    `${inWords(completed)} of ${inWords(total)} documents`,
    ...(failed > 0 ? [`${inWords(failed)} failed`] : []),
    `${inWords(entities)} entities`,
    `${inWords(relations)} relations`,
    ...(outcome === undefined ? [] : [`${inWords(outcome.triplesIngested)} triples`]),
  ]
  return element(
    "article",
    { class: "card" },
    element(
      "p",
      { class: "card-head" },
      instanceLink("batch", batchId, namespace),
      badge(stage, toneOf(state, isTerminal)),
      time(createdAt),
    ),
    element("progress", {
      max: "100",
      value: String(percent),
      "aria-label": `Progress of ${batchId}`,
      class: state === "Failed" ? "bad" : undefined,
    }),
    element("p", { class: "faint figures" }, figures.join(" · ")),
    ...(failure === undefined ? [] : [element("p", { class: "problem" }, failure.message)]),
  )
}

/**
 * @param {string} state
 * @param {boolean} isTerminal
 */
function toneOf(state, isTerminal) {
  if (!isTerminal) return "busy"
  if (state === "Completed") return "good"
  return state === "Cancelled" ? "calm" : "bad"
}
