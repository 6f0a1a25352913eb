import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const demo = join(import.meta.dirname, "../demo.ts")
const cli = join(import.meta.dirname, "../../packages/cli/bin/detent.mjs")
let folder = ""

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "detent-demo-"))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Runs the demo to its end, or kills it once it has printed `until`. */
const run = async (name: string, until?: string) => {
  const env = { ...process.env, DETENT_DEMO_FOLDER: join(folder, name), NO_COLOR: "1" }
  const child = spawn(process.execPath, [demo], { env, stdio: ["ignore", "pipe", "pipe"] })
  let text = ""
  const hear = (data: Buffer) => {
    text += data.toString()
    if (until !== undefined && text.includes(until)) child.kill("SIGKILL")
  }
  child.stdout.on("data", hear)
  child.stderr.on("data", hear)
  const [code] = await once(child, "close")
  return { code, text }
}

const graphOf = (name: string) => readFile(join(folder, name, "canonical/coast/entities.ttl"), "utf8")
/** Removes the ids of runs and batches and the times, which differ between two runs. */
const comparable = (turtle: string) => turtle.replace(/detent:run "[^"]+"|prov:generatedAtTime "[^"]+"|prov:wasGeneratedBy <[^>]+>/g, "")

describe("the demo", () => {
  it("kills an order in the middle of its payment, resumes it, and charges once", async () => {
    const { text } = await run("whole")
    expect(text).toMatch(/kill -9 \d+ /)
    expect(text).toMatch(/order-1 +Charging → Paid +the command ran again under the same idempotency key: receipt-1/)
    expect(text).toMatch(/the bank +2 requests, 1 charge /)
    expect(text).toMatch(/order-2 +Placed → Cancelled +not paid within 5 seconds/)
    expect(text).toMatch(/sendMail +failed 3 times/)
    expect(text).toMatch(/sendMail +completed/)
    const charges = (await readFile(join(folder, "whole", "charges.jsonl"), "utf8")).trim().split("\n")
    expect(charges.map((line) => JSON.parse(line).customer)).toEqual(["ada", "alan"])
  })

  it("turns the shipped corpus into a graph, and prints its location and its counts", async () => {
    const { code, text } = await run("whole")
    expect(text).toContain("order-1 is Paid")
    expect(text).toMatch(/\d+ documents gave \d+ facts about \d+ entities/)
    expect(text).toContain("entities.ttl")
    expect(text).toContain("npx detent dev --demo --data")
    expect(code).toBe(0)
    expect(await graphOf("whole")).toContain("Harbour Lights")
  })

  it("prints commands that show facts, entities and answers by name", async () => {
    const { text } = await run("whole")
    const answers = await Promise.all(
      [...text.matchAll(/npx detent (graph .*)/g)].map(async ([, line = ""]) => {
        const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "")
        return (await promisify(execFile)(process.execPath, [cli, ...words])).stdout
      }),
    )
    const [relations = "", entities = "", books = ""] = answers
    expect(relations).toMatch(/^Harbour Lights +writtenBy +Tomas Brandt /m)
    expect(entities).toMatch(/^Harbour Lights +Book /m)
    expect(books).toMatch(/^Harbour Lights +Tomas Brandt$/m)
  })

  it("resumes when it is killed and started again", async () => {
    await run("killed", "Extracting")
    const { code, text } = await run("killed")
    expect(text).toContain("An earlier demo was stopped before its end")
    expect(code).toBe(0)
    expect(comparable(await graphOf("killed"))).toBe(comparable(await graphOf("whole")))
  })
})
