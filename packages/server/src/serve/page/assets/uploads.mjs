/** The latest uploads, with what became of their items. */
import { ask, pathOf, Refused } from "./asking.mjs"
import { badge, beginning, byId, element, instanceLink, inWords, renew, renewWith, time } from "./elements.mjs"

/**
 * @typedef {typeof import("../../../uploads/Api.ts").UploadListing.Type} Listing
 * @typedef {import("../../../uploads/Api.ts").UploadStatus} Status
 * @typedef {Listing & { readonly status: Status | Refused }} Upload
 */

const shown = 6

export class Uploads {
  #list = byId("uploads")
  /** @type {ReadonlyArray<Upload>} */
  #uploads = []

  async look() {
    /** @type {{ readonly uploads: ReadonlyArray<Listing> }} */
    const { uploads } = await ask(pathOf(["uploads"], { limit: shown }))
    this.#uploads = await Promise.all(uploads.map((listing) => this.#withStatus(listing)))
    if (uploads.length > 0) renew(this.#list, this.#uploads, ({ batchId }) => batchId, card)
    else renewWith(this.#list, beginning("Upload a file of Hacker News items:", "npx detent upload run items.jsonl"))
  }

  /**
   * One that rests with the same counts is as it was.
   *
   * @param {Listing} listing
   * @returns {Promise<Upload>}
   */
  async #withStatus(listing) {
    const known = this.#uploads.find(({ batchId }) => batchId === listing.batchId)
    const isResting = known !== undefined && !(known.status instanceof Refused) && known.status.isResting
    const isSame = isResting && known.stored === listing.stored && known.failed === listing.failed
    return { ...listing, status: isSame ? known.status : await statusOf(listing.batchId) }
  }
}

/**
 * One that cannot be read does not keep the others from being shown.
 *
 * @param {string} id
 * @returns {Promise<Status | Refused>}
 */
async function statusOf(id) {
  try {
    return await ask(pathOf(["uploads", id]))
  } catch (problem) {
    if (problem instanceof Refused && problem.status !== 401) return problem
    throw problem
  }
}

/** @param {Upload} upload */
function card({ batchId, fileName, createdAt, status }) {
  const link = instanceLink("UploadBatch", batchId, fileName)
  if (status instanceof Refused)
    return element(
      "article",
      { class: "card" },
      element("p", { class: "card-head" }, link, time(createdAt)),
      element("p", { class: "problem" }, status.message),
    )
  const { state, isResting, items, itemsPerSecond, problem, errors } = status
  const done = items.stored + items.failed
  const figures = [
    `${inWords(items.stored)} of ${inWords(items.total)} items stored`,
    ...(items.failed > 0 ? [`${inWords(items.failed)} failed`] : []),
    ...(isResting || itemsPerSecond === undefined ? [] : [`${inWords(Math.round(itemsPerSecond))} items/s`]),
  ]
  const reasons = errors.map(({ reason, count }) => `${inWords(count)} ${reason.replaceAll("_", " ")}`)
  return element(
    "article",
    { class: "card" },
    element("p", { class: "card-head" }, link, badge(state.replaceAll("_", " "), toneOf(state, isResting)), time(createdAt)),
    element("progress", { max: String(Math.max(items.total, 1)), value: String(done), "aria-label": `Progress of ${fileName}` }),
    element("p", { class: "faint figures" }, figures.join(" · ")),
    ...(problem === undefined ? [] : [element("p", { class: "problem" }, problem)]),
    ...(reasons.length === 0 ? [] : [element("p", { class: "faint figures" }, reasons.join(" · "))]),
  )
}

/**
 * @param {string} state
 * @param {boolean} isResting
 */
function toneOf(state, isResting) {
  if (state === "completed") return "good"
  if (state === "failed" || state === "partially_completed") return "bad"
  return isResting ? "calm" : "busy"
}
