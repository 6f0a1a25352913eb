/**
 * Three nodes share sixty meters on one PostgreSQL, in your terminal. One is killed with -9, the others take over its shards, it
 * restarts, and at the end the journal shows that nothing was lost and nothing was stored twice.
 *
 * Run it: `npm run example:cluster`. It starts a PostgreSQL of its own, and never uses that of DETENT_DATABASE_URL, where nodes of yours
 * may run. `npm run example:cluster -- postgres://…` uses another one, whose database should be empty.
 */
import { randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import { freePort } from "../../packages/store/test/support/freePort.ts"
import { startPostgres } from "../../packages/store/test/support/PostgresServer.ts"
import { coloured, plain } from "../orders/Style.ts"
import { NodeProcess } from "./NodeProcess.ts"
import { Meterage, picture } from "./Picture.ts"
import { prove } from "./Proof.ts"
import { play, startPlaces } from "./Scenario.ts"

const out = process.stdout
const lease = 3000

const run = async (url: string) => {
  const isTerminal = out.isTTY === true && process.env["TERM"] !== "dumb"
  const style = isTerminal && !process.env["NO_COLOR"] ? coloured : plain
  const token = randomBytes(32).toString("hex")
  const ports = await Effect.runPromise(Effect.all([freePort, freePort, freePort]))
  const settingsOf = (address: string) => ({ url, address, token, lease })
  const places = startPlaces(ports.map((port) => settingsOf(`127.0.0.1:${port}`)))
  const meterage = new Meterage()
  let said = "the nodes start"
  let drawn = 0
  const draw = () => {
    const lines = picture(places, meterage.read(places, performance.now()), said, style)
    out.write(`${drawn > 0 ? `\r\x1b[${drawn}A` : ""}${lines.map((line) => `\x1b[2K${line}\n`).join("")}`)
    drawn = lines.length
  }
  const say = (text: string) => {
    said = text
    if (!isTerminal) out.write(`${text}\n`)
  }
  out.write(style.bold(`Three nodes, sixty meters, a lease of ${lease / 1000} seconds\n\n`))
  const drawing = isTerminal ? setInterval(draw, 250) : undefined
  try {
    await play({ places, say, quietMillis: 2500 }, ({ address, answered }) => new NodeProcess(settingsOf(address), answered))
  } finally {
    clearInterval(drawing)
    await Promise.all(places.map(({ node }) => node.kill()))
  }
  const answered = places.flatMap((place) => place.answered)
  const failed = places.reduce((sum, { node }) => sum + node.failed, 0)
  const { journaled, lost, doubled } = await Effect.runPromise(prove(url, answered))
  out.write(`\n${answered.length} events answered, ${failed} failed; the journal has ${journaled}: ${lost} lost, ${doubled} stored twice\n`)
  if (lost > 0 || doubled > 0) process.exitCode = 1
}

const runOnOwn = async () => {
  const server = await startPostgres()
  try {
    await run(server.url)
  } finally {
    await server.stop()
  }
}

const given = process.argv[2]
try {
  await (given === undefined ? runOnOwn() : run(given))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
// The library of PostgreSQL would end the process with 0 by itself.
process.exit()
