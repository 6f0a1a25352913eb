/**
 * Draws every example beside its source, and for some of them the path of one instance. The diagrams are checked in, so that
 * they can be read without running anything, and their changes are reviewed like those of any other file.
 *
 *     node examples/diagrams.ts            updates them
 *     node examples/diagrams.ts --check    lists those that are out of date, and fails if there are any
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Trace } from "@detent/machine"
import { CommandReport, Dot, Mermaid, Svg } from "@detent/machine/diagram"
import * as Effect from "effect/Effect"
import { Batch } from "./batch/Batch.ts"
import { Document } from "./document/Document.ts"
import { Approval } from "./entity/Invoice.ts"
import { Order } from "./order/Order.ts"
import { Subscription } from "./readme/Subscription.ts"
import { document, order, orderCommands } from "./traces.ts"
import { TrafficLight } from "./traffic-light/TrafficLight.ts"

const examples = {
  "batch/Batch": Batch,
  "document/Document": Document,
  "entity/Invoice": Approval.machine,
  "order/Order": Order,
  "readme/Subscription": Subscription,
  "traffic-light/TrafficLight": TrafficLight,
}

interface Diagram {
  /** Relative to this folder. */
  readonly path: string
  readonly content: string
}

const structure = (name: string, machine: (typeof examples)[keyof typeof examples]) =>
  Effect.map(
    Svg.render(machine),
    (svg): ReadonlyArray<Diagram> => [
      { path: `${name}.svg`, content: svg },
      { path: `${name}.mmd`, content: Mermaid.stateDiagram(machine) },
      { path: `${name}.dot`, content: Dot.structure(machine) },
    ],
  )

/** The path of one instance: in the structure, as a sequence, and as a timeline. */
const way = (
  name: string,
  machine: typeof Order | typeof Document,
  trace: Trace,
  commands: ReadonlyArray<CommandReport.CommandRecord> = [],
) =>
  Effect.map(
    Svg.render(machine, { trace }),
    (svg): ReadonlyArray<Diagram> => [
      { path: `${name}.trace.svg`, content: svg },
      { path: `${name}.trace.mmd`, content: Mermaid.stateDiagram(machine, { trace }) },
      { path: `${name}.trace.flowchart.mmd`, content: Mermaid.flowchart(machine, { trace }) },
      { path: `${name}.trace.dot`, content: Dot.structure(machine, { trace }) },
      { path: `${name}.sequence.mmd`, content: Mermaid.sequence(trace, { fields: true, commands }) },
      { path: `${name}.timeline.dot`, content: Dot.timeline(trace) },
    ],
  )

/** All diagrams, drawn from the current sources. */
export const draw: Effect.Effect<ReadonlyArray<Diagram>, Svg.DiagramError> = Effect.map(
  Effect.all([
    ...Object.entries(examples).map(([name, machine]) => structure(name, machine)),
    way("order/Order", Order, order, orderCommands),
    way("document/Document", Document, document),
    Effect.succeed([
      { path: "order/Order.commands.md", content: CommandReport.report({ title: "Commands of three orders", commands: orderCommands }) },
    ]),
  ]),
  (diagrams) => diagrams.flat(),
)

const fileOf = ({ path }: Diagram) => join(import.meta.dirname, path)

// A missing file counts as out of date.
const isCurrent = (diagram: Diagram) =>
  Effect.promise(() =>
    readFile(fileOf(diagram), "utf8").then(
      (content) => content === diagram.content,
      () => false,
    ),
  )

/** The diagrams whose file is out of date. */
export const stale: Effect.Effect<ReadonlyArray<Diagram>, Svg.DiagramError> = Effect.flatMap(draw, (diagrams) =>
  Effect.filter(diagrams, (diagram) => Effect.map(isCurrent(diagram), (current) => !current)),
)

const check = Effect.map(stale, (diagrams) => {
  for (const { path } of diagrams) console.error(`examples/${path} is out of date: run node examples/diagrams.ts`)
  if (diagrams.length > 0) process.exitCode = 1
})

const update = Effect.flatMap(stale, (diagrams) =>
  Effect.forEach(diagrams, (diagram) =>
    Effect.promise(() => writeFile(fileOf(diagram), diagram.content).then(() => console.log(`examples/${diagram.path}`))),
  ),
)

if (import.meta.main) await Effect.runPromise(process.argv.includes("--check") ? check : update)
