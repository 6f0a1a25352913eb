/**
 * `npm run demo`: runs the shipped corpus through the whole pipeline, from documents to a validated graph, on an embedded
 * database. Stop it with Ctrl-C or kill it, and start it again: it resumes. On a terminal it then serves the console and prints its
 * address.
 */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Batches, type BatchState, isTerminal, ManifestFileJson, ManifestJson, progressPercent, stageDisplayName } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { corpus, corpusFolder, live, namespace } from "./knowledge/Corpus.ts"
import { someFacts } from "./knowledge/Facts.ts"
import { progressLine } from "./knowledge/ProgressLine.ts"
import { coloured, plain, type Style } from "./orders/Style.ts"

const out = process.stdout
const folder = resolve(process.env["DETENT_DEMO_FOLDER"] ?? ".detent/demo")

/** Asks for books and their authors, by name. */
const labelQuery =
  "PREFIX : <https://example.org/coast#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> " +
  "SELECT ?book ?author { ?x :writtenBy ?y ; rdfs:label ?book . ?y rdfs:label ?author }"

/** Prints the progress: on a terminal one line that is redrawn in place, elsewhere one line per stage. */
const shown = (style: Style, isTerminal: boolean) => {
  let stage = ""
  return (state: BatchState) =>
    Effect.sync(() => {
      const line = progressLine(state, style, out.columns ?? 80)
      if (isTerminal) out.write(`\r\x1b[2K${line}`)
      else if (stage !== state._tag) out.write(`${stageDisplayName(state)}, ${progressPercent(state)}%\n`)
      stage = state._tag
    })
}

const unfinished = (batches: typeof Batches.Service) =>
  Effect.gen(function* () {
    const { instances } = yield* batches.list({ status: "running" })
    return instances.find(({ tag }) => !["Failed", "Cancelled"].includes(tag))?.id as Parameters<typeof batches.watch>[0] | undefined
  })

const demo = Effect.gen(function* () {
  const batches = yield* Batches
  const isTerminalOut = out.isTTY === true && process.env["TERM"] !== "dumb"
  const style = isTerminalOut && !process.env["NO_COLOR"] ? coloured : plain
  const manifest = Schema.decodeSync(ManifestFileJson)(readFileSync(join(corpus, "manifest.json"), "utf8"))
  const before = yield* unfinished(batches)
  out.write(style.bold(`${manifest.documents.length} documents to one validated graph\n`))
  if (before !== undefined) out.write(style.dim("An earlier run was stopped before its end: this run resumes it.\n"))
  const id = before ?? (yield* batches.start(corpusFolder, manifest))
  yield* Stream.runForEach(batches.watch(id), shown(style, isTerminalOut))
  if (isTerminalOut) out.write("\n")
  const end = yield* batches.state(id)
  if (end._tag !== "Completed" && end._tag !== "PartiallyCompleted") {
    out.write(style.red(isTerminal(end) && end._tag === "Failed" ? `${end.error.message}\n` : `The batch ended as ${end._tag}.\n`))
    process.exitCode = 1
    return
  }
  const { stats } = end
  out.write(
    `\n${stats.documentsProcessed} documents gave ${style.bold(`${stats.relationsExtracted} facts`)} about ${style.bold(`${stats.clustersResolved} entities`)}` +
      ` (${stats.entitiesExtracted} mentions); ${stats.violations} ${stats.violations === 1 ? "violation" : "violations"}, ${stats.triplesIngested} triples in ${(stats.totalDurationMs / 1000).toFixed(1)} s\n\n`,
  )
  const { documents } = Schema.decodeSync(ManifestJson)(readFileSync(new URL(end.manifestUri), "utf8"))
  for (const { subject, property, object, quote, source } of yield* someFacts(namespace, documents, 5))
    out.write(
      `  ${subject} ${style.cyan(property)} ${object}\n    ${style.dim(`"${quote.length > 90 ? `${quote.slice(0, 90)}…` : quote}" ${source}`)}\n`,
    )
  const path = (file: string) => relative(process.cwd(), file)
  out.write(`\nThe graph       ${path(fileURLToPath(end.canonicalGraphUri))}\n`)
  out.write(`The report      ${path(join(folder, "batches", id, "validation/report.json"))}\n`)
  out.write(`The facts       npx detent graph relations --data ${path(folder)}\n`)
  out.write(`The entities    npx detent graph entities --data ${path(folder)}\n`)
  out.write(`Ask in SPARQL   npx detent graph query "${labelQuery}" --data ${path(folder)}\n`)
  out.write(`Start over      rm -r ${path(folder)}\n`)
  out.write(`See it          npx detent serve --data ${path(folder)}\n`)
}).pipe(Effect.provide(live(folder)))

/** Serves the result of the demo on a free port until Ctrl-C. The server prints its address. */
const serveResult = Effect.callback<void>((resume) => {
  out.write("\nThe console shows the batch and its graph. Ctrl-C ends it.\n")
  const cli = fileURLToPath(new URL("../packages/cli/bin/detent.mjs", import.meta.url))
  const server = spawn(process.execPath, [cli, "serve", "--data", folder, "--port", "0"], { stdio: "inherit" })
  server.on("error", (error) => resume(Effect.die(error)))
  server.on("exit", () => resume(Effect.void))
  return Effect.sync(() => void server.kill("SIGTERM"))
})

/** Only a person gets the server: a program that reads the output waits for its end. */
const isPerson = out.isTTY === true && process.stdin.isTTY === true

/** Ctrl-C interrupts the demo; finished steps are stored. */
const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  const interrupt = () => fiber.interruptUnsafe()
  process.once("SIGINT", interrupt)
  process.once("SIGTERM", interrupt)
  out.once("error", interrupt)
  fiber.addObserver((exit) =>
    teardown(exit, (code) => {
      process.exitCode ??= code
      if (code === 130) out.write("\nStopped. Start it again to resume where it stopped: npm run demo\n")
    }),
  )
})

if (import.meta.main) {
  runMain(
    isPerson
      ? Effect.andThen(
          demo,
          Effect.suspend(() => (process.exitCode === 1 ? Effect.void : serveResult)),
        )
      : demo,
  )
}
