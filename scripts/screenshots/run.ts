/**
 * `npm run screenshots`: takes a picture of every page of the console, in two themes and two widths, to docs/images. `--serve` only
 * serves the sample, until Ctrl-C, for work on the console.
 */
import { mkdirSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { chromium, type Page } from "playwright-core"
import { root } from "../projects.mjs"
import { sample } from "./Sample.ts"

const { values } = parseArgs({
  options: {
    serve: { type: "boolean", default: false },
    port: { type: "string", default: "0" },
    output: { type: "string", default: join(root, "docs/images") },
    only: { type: "string" },
  },
})

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-screenshots-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

const bornIn = `SELECT ?person ?place\nWHERE {\n  ?person <https://example.org/coast#bornIn> ?place\n}\nORDER BY ?person\nLIMIT 40`

const program = Effect.gen(function* () {
  const { url, batchId, uploadId } = yield* sample(yield* folder, Number(values.port))
  if (values.serve) {
    console.log(url)
    return yield* Effect.never
  }
  const pages = {
    overview: "/",
    machines: "/machines",
    machine: "/machines/subscription",
    instances: "/instances?machine=subscription",
    instance: "/instances/subscription/sub-106?at=3",
    order: "/instances/order/order-1",
    commands: "/commands",
    workflows: "/workflows",
    queues: "/queues",
    queue: "/queues/subscription",
    batches: "/batches",
    batch: `/batches/${batchId}`,
    knowledge: "/knowledge",
    graph: "/knowledge/coast",
    sparql: `/knowledge/coast/sparql?q=${encodeURIComponent(bornIn)}`,
    uploads: "/uploads",
    upload: `/uploads/${uploadId}`,
    item: `/uploads/${uploadId}?item=5`,
    nodes: "/nodes",
    system: "/system",
  }
  const answer = (path: string) => Effect.promise(async (): Promise<unknown> => (await fetch(`${url}/api/v1/${path}`)).json())
  const { entities } = (yield* answer("knowledge/coast/entities?search=Harbour&limit=1")) as {
    readonly entities: ReadonlyArray<{ readonly iri: string }>
  }
  const { executions } = (yield* answer("executions?workflow=checkout&limit=1")) as {
    readonly executions: ReadonlyArray<{ readonly id: string }>
  }
  const entity = `/knowledge/coast?entity=${encodeURIComponent(entities[0]?.iri ?? "")}`
  const { facts } = (yield* answer(`knowledge/coast/provenance?entity=${encodeURIComponent(entities[0]?.iri ?? "")}&limit=1`)) as {
    readonly facts: ReadonlyArray<{ readonly property: string; readonly object: string }>
  }
  const fact = facts.map(({ property, object }) => `${property.split(/[#/]/).at(-1)} ${object}`)[0] ?? ""
  yield* Effect.promise(() =>
    shoot(url, {
      ...pages,
      entity: `${entity}&fact=${encodeURIComponent(fact)}`,
      workflow: `/workflows/checkout/${encodeURIComponent(executions[0]?.id ?? "")}`,
    }),
  )
})

/** Waits until everything is loaded: no skeleton, and a live badge. Uses selectors, because the page forbids evaluation. */
const shown = async (page: Page) => {
  const has = async (selector: string) => (await page.locator(selector).count()) > 0
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    if ((await has("h1")) && (await has("[data-live=live]")) && !(await has(".late"))) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${page.url()} is not complete after thirty seconds`)
}

const shoot = async (url: string, pages: Readonly<Record<string, string>>) => {
  mkdirSync(values.output, { recursive: true })
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] })
  for (const theme of ["light", "dark"] as const)
    for (const width of [1280, 390]) {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: { width, height: width > 800 ? 860 : 844 },
        reducedMotion: "reduce",
      })
      const page = await context.newPage()
      page.on("console", (message) => {
        if (message.type() === "error") console.error(`${page.url()}: ${message.text()}`)
      })
      page.on("pageerror", (error) => console.error(`${page.url()}: ${error.stack}`))
      for (const [name, path] of Object.entries(pages)) {
        if (values.only !== undefined && !values.only.split(",").includes(name)) continue
        await page.goto(url + path)
        await shown(page)
        await page.screenshot({ path: join(values.output, `${name}-${theme}-${width}.png`) })
      }
      await context.close()
    }
  await browser.close()
}

await Effect.runPromise(Effect.scoped(program))
