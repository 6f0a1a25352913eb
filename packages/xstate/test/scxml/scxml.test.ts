/** The charts of the W3C and of SCION: what XState itself decides, a durable instance decides as well. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Engine } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { type AnyMachineSnapshot, createActor, SimulatedClock } from "xstate"
import { fromXState } from "../../src/index.ts"
import { withEngine } from "../support/engine.ts"
import { NotTranslated, type Translated, translate } from "./Scxml.ts"

interface Script {
  readonly initialConfiguration: ReadonlyArray<string>
  readonly events: ReadonlyArray<{
    readonly after?: number
    readonly event: { readonly name: string; readonly data?: unknown }
    readonly nextConfiguration: ReadonlyArray<string>
  }>
}

interface TestChart extends Translated {
  readonly name: string
  readonly script: Script
}

const folder = join(dirname(createRequire(import.meta.url).resolve("@scion-scxml/test-framework/package.json")), "test")

const files = readdirSync(folder).flatMap((group) =>
  readdirSync(join(folder, group))
    .filter((file) => file.endsWith(".scxml"))
    .map((file) => join(group, file)),
)

const readChart = (file: string): TestChart | undefined => {
  const expected = join(folder, file.replace(/\.scxml$/, ".json"))
  if (!existsSync(expected)) return undefined
  try {
    const name = file.replace(/\.scxml$/, "")
    const script = JSON.parse(readFileSync(expected, "utf8")) as Script
    return { name, script, ...translate(readFileSync(join(folder, file), "utf8"), "chart") }
  } catch (error) {
    if (error instanceof NotTranslated) return undefined
    // A chart that XState cannot build.
    return undefined
  }
}

/** The names of the innermost active states. */
const configuration = ({ machine, nameOf }: Translated, { value, context }: Pick<AnyMachineSnapshot, "value" | "context">) => {
  const { _nodes: nodes } = machine.resolveState({ value, context } as never) as AnyMachineSnapshot
  return nodes
    .filter(({ type }) => type === "atomic" || type === "final")
    .map(({ key }) => nameOf(key))
    .sort()
}

const inXState = (chart: TestChart): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  try {
    const clock = new SimulatedClock()
    const actor = createActor(chart.machine, { clock })
    actor.subscribe({ error: () => undefined })
    actor.start()
    const seen = [configuration(chart, actor.getSnapshot())]
    for (const { after = 0, event } of chart.script.events) {
      if (after > 0) clock.increment(after)
      if (actor.getSnapshot().status === "active") actor.send({ type: event.name, data: event.data })
      seen.push(configuration(chart, actor.getSnapshot()))
    }
    return seen
  } catch {
    return undefined
  }
}

const expectedOf = ({ script }: TestChart): ReadonlyArray<ReadonlyArray<string>> =>
  [script.initialConfiguration, ...script.events.map(({ nextConfiguration }) => nextConfiguration)].map((names) => [...names].sort())

/** Events that the chart sent itself are handled after the one that sent them. */
const settle = Effect.replicateEffect(Effect.yieldNow, 30, { discard: true })

const charts = files.flatMap((file) => readChart(file) ?? [])
/** A chart of the W3C keeps a function in its data: that does not survive a restart. */
const withFunctions = new Set(["w3c-ecma/test453.txml"])
const passed = charts.filter(
  (chart) => !withFunctions.has(chart.name) && JSON.stringify(inXState(chart)) === JSON.stringify(expectedOf(chart)),
)

describe("charts of the W3C and SCION suites that XState passes", () => {
  it("are most of those that can be translated", () => {
    expect(files.length).toBeGreaterThan(300)
    expect(passed.length).toBeGreaterThan(160)
  })

  it.effect.each(passed)("$name", (chart) =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const Chart = fromXState(chart.machine)
        const instance = yield* engine.start(Chart, "one")
        yield* settle
        const seen = [configuration(chart, (yield* instance.state) as never)]
        for (const { after = 0, event } of chart.script.events) {
          if (after > 0) yield* TestClock.adjust(after)
          yield* Effect.ignore(instance.send({ type: event.name, ...(event.data === undefined ? {} : { data: event.data }) } as never))
          yield* settle
          seen.push(configuration(chart, (yield* instance.state) as never))
        }
        expect(seen).toEqual(expectedOf(chart))
        // And the same again from the journal.
        const { sequence, state } = yield* instance.stored
        expect(yield* instance.stateAt(sequence)).toEqual(state)
      }),
    ),
  )
})
