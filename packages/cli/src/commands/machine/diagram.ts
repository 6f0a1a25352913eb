import type { DrawingFormat } from "@detent/api/DrawingFormat"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { writeText } from "../../output/Writing.ts"
import { observed, observing } from "../../workspace/Opening.ts"
import { machineArgument } from "../shared.ts"

export default command(
  {
    name: "machine diagram",
    summary: "draw a machine",
    arguments: [machineArgument],
    options: [
      {
        name: "format",
        kind: "text",
        value: "FORMAT",
        choices: ["mermaid", "flowchart", "dot", "svg", "sequence", "timeline", "layout"],
        default: "mermaid",
        summary: "sequence (Mermaid) and timeline (DOT) draw one instance; layout prints the positions as JSON",
      },
      { name: "output", kind: "text", value: "FILE", summary: "write to this file. Default: stdout", complete: "file" },
      { name: "instance", kind: "text", value: "ID", summary: "draw the path that this instance took" },
      { name: "theme", kind: "text", value: "THEME", choices: ["light", "dark"], summary: "the theme of an SVG. Default: light" },
      { name: "direction", kind: "text", value: "WAY", choices: ["down", "right"], summary: "the direction of a layout. Default: down" },
    ],
    examples: [
      { line: "detent machine diagram order --format svg --output order.svg", says: "an SVG file, drawn without a browser" },
      { line: "detent machine diagram order --instance order-7", says: "marks the states and transitions of the instance" },
      { line: "detent machine diagram order --instance order-7 --format sequence", says: "event by event, with requested commands" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine: name, format, output: file } = input
      const text = format === "layout" ? yield* layoutText(name, input.direction) : yield* drawn(name, format, input)
      if (file === undefined) return yield* output.value({ machine: name, format, text }, () => text)
      yield* writeText(file, text)
      yield* output.value({ machine: name, format, file }, () => "")
      yield* output.note(`${file} written`)
    }).pipe(Effect.provide(input.instance === undefined ? observed(input) : observing(input))),
)

const layoutText = (name: string, direction: "down" | "right" | undefined) =>
  Effect.map(machines.layout(name, direction), (layout) => `${JSON.stringify(layout)}\n`)

interface Drawn {
  readonly instance: string | undefined
  readonly theme: "light" | "dark" | undefined
}

const drawn = (name: string, format: DrawingFormat, { instance: id, theme }: Drawn) =>
  Effect.gen(function* () {
    const { machine } = yield* instances.findMachine(name)
    const instance = id === undefined ? undefined : (yield* instances.find({ machine: name, id })).instance
    const { draw } = yield* Effect.promise(() => import("@detent/workspace/Drawing"))
    return yield* Effect.catchTag(draw(machine, { format, instance, theme }), ["InstanceNeeded", "HistoryTooLong"], (error) =>
      Effect.fail(new WrongUsage({ problem: error.message, nextStep: "add --instance ID, or see `detent instance history`" })),
    )
  })
