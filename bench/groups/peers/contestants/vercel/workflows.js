/**
 * The workflows as Vercel's Workflow SDK takes them. Its compiler reads this file: workflows run in a sandbox, steps in the process, where
 * they call the user code of the measurement.
 */
import { createHook, sleep } from "workflow"

/** @param {string} id @param {number} index */
async function step(id, index) {
  "use step"
  const host = /** @type {Record<symbol, (id: string, index: number) => void>} */ (/** @type {unknown} */ (globalThis))
  host[Symbol.for("detent.bench.step")](id, index)
}

/** @param {string} id @param {number} count */
export async function steps(id, count) {
  "use workflow"
  for (let index = 0; index < count; index++) await step(id, index)
}

/** @param {string} id */
export async function waiter(id) {
  "use workflow"
  await createHook({ token: id })
  await step(id, 0)
}

/** @param {string} id @param {number} due */
export async function sleeper(id, due) {
  "use workflow"
  await sleep(new Date(due))
  await step(id, 0)
}
