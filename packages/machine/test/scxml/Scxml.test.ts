/**
 * The W3C's tests of SCXML and those of SCION, as far as they use no parallel regions: each chart becomes a machine with groups, which
 * must pass through the configurations that the test expects.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { expect, it } from "vitest"
import { Session } from "./session.ts"
import { World } from "./world.ts"
import { readXml } from "./xml.ts"

interface Expected {
  readonly initialConfiguration: ReadonlyArray<string>
  readonly events: ReadonlyArray<{
    readonly event: { readonly name: string; readonly data?: unknown }
    readonly nextConfiguration: ReadonlyArray<string>
    readonly after?: number
  }>
}

const folder = join(dirname(createRequire(import.meta.url).resolve("@scion-scxml/test-framework/package.json")), "test")

const charts = readdirSync(folder).flatMap((group) =>
  readdirSync(join(folder, group))
    .filter((file) => file.endsWith(".scxml") && existsSync(join(folder, group, file.replace(/scxml$/, "json"))))
    .map((file) => join(group, file)),
)

const sequential = charts.filter((chart) => !readFileSync(join(folder, chart), "utf8").includes("<parallel"))

/** Where a chart has come to, and where it should be. Undefined where it is as expected. */
const difference = (chart: string): string | undefined => {
  const path = join(folder, chart)
  const expected = JSON.parse(readFileSync(path.replace(/scxml$/, "json"), "utf8")) as Expected
  const world = new World()
  try {
    const session = new Session(world, readXml(readFileSync(path, "utf8")), dirname(path))
    const isIn = (configuration: ReadonlyArray<string>) => session.configuration.join() === configuration.join()
    const reaches = (configuration: ReadonlyArray<string>) => {
      world.settle()
      for (let ticks = 0; ticks < 100 && !isIn(configuration); ticks++) if (!world.tick()) break
      return isIn(configuration)
    }
    session.start()
    // Some tests look before the events that the chart has sent itself arrive.
    if (!isIn(expected.initialConfiguration) && !reaches(expected.initialConfiguration))
      return `${session.configuration} instead of ${expected.initialConfiguration} at the start`
    for (const { event, nextConfiguration, after = 0 } of expected.events) {
      world.advance(after)
      world.queue(session, { ...event, type: "external" })
      if (!reaches(nextConfiguration)) return `${session.configuration} instead of ${nextConfiguration} after ${event.name}`
    }
    return undefined
  } catch (cause) {
    return String(cause)
  }
}

it("163 groups run at least 95 % of the charts of W3C and SCION that have no parallel regions", () => {
  const differences = new Map(sequential.map((chart) => [chart, difference(chart)]))
  const failed = [...differences].flatMap(([chart, how]) => (how === undefined ? [] : [`${chart}: ${how}`]))
  const passed = sequential.length - failed.length
  console.log(`${passed} of ${sequential.length} charts without parallel regions run, of ${charts.length} charts in all`)
  if (failed.length > 0) console.log(failed.join("\n"))
  expect(passed / sequential.length).toBeGreaterThanOrEqual(0.95)
})
