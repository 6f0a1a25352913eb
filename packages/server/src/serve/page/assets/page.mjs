/** The start page: looks every two seconds while somebody looks at it, and not at all while nobody does. */
import { ask, forgetToken, hasToken, keepToken, Refused } from "./asking.mjs"
import { Batches } from "./batches.mjs"
import { byId, copyLine, element, renewTimes } from "./elements.mjs"
import { Failures } from "./failures.mjs"
import { Instance } from "./instance.mjs"
import { Instances } from "./instances.mjs"
import { Machines } from "./machines.mjs"
import { Uploads } from "./uploads.mjs"

/** @typedef {typeof import("../../../system/Api.ts").Readiness.Type} Readiness */

/** From the end of one look to the next, in milliseconds; longer where looking costs the server much. */
const pause = 2000
const pausePerCost = 10

const unreachable = "The server does not answer; trying again"

const machines = new Machines()
const batches = new Batches()
const uploads = new Uploads()
const instances = new Instances()
const failures = new Failures()
const instance = new Instance()

const door = /** @type {HTMLFormElement} */ (byId("door"))
const token = /** @type {HTMLInputElement} */ (byId("token"))
const doorProblem = byId("door-problem")
const standing = byId("standing")

/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting
let isLooking = false
/** Not before this, by the clock of `performance.now`. */
let due = 0

async function lookAround() {
  const now = Date.now()
  /** @type {ReadonlyArray<string>} */
  let latest = []
  // One after the other: a page that is left open takes one connection, not seven.
  const looks = [
    () => machines.look(),
    async () => {
      latest = await instances.look(now)
    },
    tellStanding,
    async () => {
      if (!byId("knowledge").hidden) await batches.look(now)
    },
    async () => {
      if (!byId("upload").hidden) await uploads.look()
    },
    () => failures.look(),
    () => instance.look(),
  ]
  /** @type {Array<unknown>} */
  const problems = []
  for (const one of looks) {
    try {
      await one()
    } catch (problem) {
      // What is wrong with one part is no reason not to show the others; without a token there are none.
      if (problem instanceof Refused && problem.status === 401) throw problem
      problems.push(problem)
    }
  }
  machines.suggest(latest)
  renewTimes()
  byId("content").hidden = false
  if (problems.length > 0) throw problems[0]
}

async function tellStanding() {
  /** @type {Readiness} */
  const { role, database, systems } = await ask("health/ready")
  // A system that is off has no addresses to ask.
  byId("knowledge").hidden = !systems.includes("knowledge")
  byId("upload").hidden = !systems.includes("uploads")
  tell(`${role === "observe" ? "Only looks" : "Working"} · ${database === "Sqlite" ? "SQLite" : "PostgreSQL"}`, "faint")
  byId("reference").textContent = hasToken() ? "openapi.json" : "API reference"
}

async function look() {
  if (isLooking || document.hidden || !door.hidden) return
  isLooking = true
  const start = performance.now()
  try {
    await lookAround()
  } catch (problem) {
    if (problem instanceof Refused && problem.status === 401) askForToken()
    else tell(problem instanceof Refused ? problem.message : unreachable, "problem")
  }
  isLooking = false
  due = performance.now() + Math.max(pause, pausePerCost * (performance.now() - start))
  lookWhenDue()
}

function lookWhenDue() {
  clearTimeout(waiting)
  waiting = setTimeout(look, Math.max(0, due - performance.now()))
}

/**
 * @param {string} text
 * @param {"faint" | "problem"} tone
 */
function tell(text, tone) {
  if (standing.textContent !== text) standing.textContent = text
  standing.className = tone
}

async function saveDescription() {
  try {
    const description = await ask("openapi.json")
    const source = URL.createObjectURL(new Blob([JSON.stringify(description, null, 2)], { type: "application/json" }))
    element("a", { href: source, download: "openapi.json" }).click()
    URL.revokeObjectURL(source)
  } catch (problem) {
    tell(problem instanceof Refused ? problem.message : unreachable, "problem")
  }
}

function askForToken() {
  doorProblem.textContent = hasToken() ? "The server does not know this token." : ""
  forgetToken()
  batches.rest()
  byId("content").hidden = true
  door.hidden = false
  tell("Waiting for a token", "faint")
  token.focus()
}

door.addEventListener("submit", (event) => {
  event.preventDefault()
  const given = token.value.trim()
  if (!/^[\x21-\x7e]+$/.test(given)) {
    doorProblem.textContent = "A token has visible ASCII characters only; copy it again."
    return
  }
  keepToken(given)
  token.value = ""
  door.hidden = true
  void look()
})

document.addEventListener("visibilitychange", () => {
  if (document.hidden) batches.rest()
  else lookWhenDue()
})
document.addEventListener("click", copyLine)
byId("reference").addEventListener("click", (event) => {
  // A link carries no token, so the description comes as a file instead.
  if (!hasToken()) return
  event.preventDefault()
  void saveDescription()
})
addEventListener("hashchange", () => void instance.open())

await look()
if (location.hash !== "") await instance.open()
