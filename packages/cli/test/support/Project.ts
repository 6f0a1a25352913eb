/** Projects in the way users have them, with the packages of the workspace where npm would have put them. */
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../../..")

export const corpus = join(root, "packages/knowledge/corpus")

const fewDocuments: ReadonlyArray<string> = ["ada-sol.txt", "books.json", "fleet.csv", "northlight-press.md"]

/** A folder with a manifest of a few documents of the corpus. All of them take four times as long, and prove nothing more here. */
export const copyFewDocuments = async (folder: string, names = fewDocuments): Promise<void> => {
  await mkdir(join(folder, "documents"), { recursive: true })
  const manifest = JSON.parse(await readFile(join(corpus, "manifest.json"), "utf8"))
  const documents = names.map((name) => ({ source: `documents/${name}` }))
  await writeFile(join(folder, "manifest.json"), JSON.stringify({ ...manifest, documents }))
  for (const { source } of documents) await cp(join(corpus, source), join(folder, source))
  for (const name of ["ontology.ttl", "shapes.ttl", "examples.jsonl"]) await cp(join(corpus, name), join(folder, name))
}

export const linkPackages = (folder: string) => symlink(join(root, "node_modules"), join(folder, "node_modules"))

export const project = async (folder: string, config: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  await linkPackages(folder)
  await writeFile(join(folder, "detent.config.ts"), config)
}

/** What turns knowledge and uploads on, after the machines of a configuration. */
export const bothSystems = ', knowledge: {}, uploads: ["items"]'

/** A lamp whose bill cannot be sent, and whose owner's pin must not be shown. `level` is what it takes to be switched on. */
export const lampConfig = (level = "Schema.Int", settings = "") => `
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({ Off: { pin: State.sensitive(Schema.String) }, On: { pin: State.sensitive(Schema.String), level: ${level} } })
const E = Event({ Switch: { level: ${level} }, Rest: {} })
const effects = Slot.Effects({ sendBill: { level: ${level} } })

const Lamp = Machine.make({ name: "lamp", state: S, event: E, effects, initial: S.Off })
  .on(S.Off, E.Switch, S.On)
  .on(S.On, E.Rest, S.Off)
  .enter(S.On, ({ state, effects }) => effects.sendBill({ level: state.level }), { requests: ["sendBill"] })
  .commands({ sendBill: { retry: RetryPolicy.none } })
  .build({ sendBill: () => Effect.fail(new Error("the post office is closed")) })

export default defineConfig({ machines: [Lamp]${settings} })
`

/** A graph without the names and times of runs: everything else is the same in every run over the same documents. */
export const withoutRuns = (turtle: string): string =>
  turtle.replace(/detent:run "[^"]+"/g, "").replace(/prov:(generatedAtTime "[^"]+"|wasGeneratedBy <[^>]+>)/g, "")
