/** `detent machine`: lists, shows and draws definitions, and checks whether stored instances still fit them. */
import type { DrawingFormat } from "@detent/api/DrawingFormat"
import { exampleFields, exampleOf } from "@detent/workspace/ExampleJson"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import { command } from "../line/Command.ts"
import { ExitCode } from "../line/ExitCode.mjs"
import { countText, requestsText, stateMeta, stateRequests } from "../machine/MachineView.ts"
import { Output } from "../output/Output.ts"
import { filledTableText, pairsText, tableText } from "../output/Table.ts"
import { writeText } from "../output/Writing.ts"
import { observed, observing } from "../workspace/Opening.ts"
import { machineArgument } from "./shared.ts"

const list = command(
  {
    name: "machine list",
    summary: "registered machines, with the number of instances in each state",
    detail: "These are the built-in machines and the machines of detent.config.ts in the working folder.",
    arguments: [],
    options: [],
    examples: [{ line: "detent machine list", says: "name, version, states, instances, and how many are held" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* machines.list,
        [
          { title: "MACHINE", of: ({ name }) => name, looks: (text, _, style) => style.bold(text) },
          { title: "VERSION", of: (row) => ("version" in row ? String(row.version) : "") },
          { title: "STATES", of: ({ states, kind }) => (kind === "machine" ? states.join(" ") : "(Effect workflow)") },
          { title: "INSTANCES", of: ({ counts }) => countText(counts) || "none" },
          {
            title: "HELD",
            of: (row) => ("held" in row && row.held > 0 ? String(row.held) : ""),
            looks: (text, _, style) => style.red(text),
          },
        ],
        "no machines",
      )
    }).pipe(Effect.provide(observed(input))),
)

const show = command(
  {
    name: "machine show",
    summary: "one machine: states, events, transitions, instances",
    arguments: [machineArgument],
    options: [],
    examples: [{ line: "detent machine show order", says: "its states, events and transitions" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { eventSchemas, ...shown } = yield* machines.get(input.machine)
      if (!("blueprint" in shown))
        return yield* output.value(shown, () =>
          pairsText(
            [
              ["workflow", shown.name],
              ["takes", "payloadSchema" in shown ? JSON.stringify(exampleFields(shown.payloadSchema)) : undefined],
              ["events", eventsText(eventSchemas) || undefined],
              ["executions", countText(shown.counts) || "none"],
            ],
            output.style,
          ),
        )
      const { blueprint, ...row } = shown
      const transitions = blueprint.transitions.map((one) => ({
        from: one.from,
        event:
          one._tag === "Event" || one._tag === "Postpone"
            ? one.event
            : one._tag === "Timeout"
              ? `after ${one.after ?? "a time"}${one.group === undefined ? "" : ` in ${one.group}`}`
              : "by itself",
        to:
          one._tag === "Postpone"
            ? "(later)"
            : one.targets
                .map((target) =>
                  target._tag === "State"
                    ? target.history === undefined
                      ? target.state
                      : `where ${target.history.group} was left`
                    : target._tag === "Stay"
                      ? "(stay)"
                      : "(end)",
                )
                .join(" or "),
        guards: one.guards.join(", "),
        requests: one.requests.join(", "),
      }))
      const events = blueprint.events.map(({ tag, fields }) => ({ event: tag, fields: fields.map(({ name }) => name) }))
      const eventFields = Object.fromEntries(events.map(({ event, fields }) => [event, fields]))
      yield* output.value(
        { ...row, eventFields, stateRequests: stateRequests(blueprint), stateMeta: stateMeta(blueprint), transitions },
        () =>
          [
            pairsText(
              [
                ["machine", row.name],
                ["version", row.version],
                ["instances", countText(row.counts) || "none"],
              ],
              output.style,
            ),
            filledTableText(
              blueprint.states,
              [
                { title: "STATE", of: ({ tag }) => tag, looks: (text, _, style) => style.bold(text) },
                {
                  title: "",
                  of: ({ initial, final, working }) =>
                    [initial ? "first" : "", final ? "final" : "", working ? "works" : ""].filter(Boolean).join(", "),
                },
                { title: "FIELDS", of: ({ fields }) => fields.map(({ name }) => name).join(" ") },
                { title: "REQUESTS", of: requestsText },
                { title: "TAGS", of: ({ tags = [] }) => tags.join(" ") },
                { title: "ABOUT", of: ({ description = "" }) => description },
              ],
              output.style,
            ),
            ...(blueprint.stateGroups.length === 0
              ? []
              : [
                  filledTableText(
                    blueprint.stateGroups,
                    [
                      { title: "GROUP", of: ({ name }) => name, looks: (text, _, style) => style.bold(text) },
                      { title: "MEMBERS", of: ({ members }) => members.join(" ") },
                      { title: "ENTERED AT", of: ({ initial = "" }) => initial },
                      { title: "REQUESTS", of: ({ stay }) => (stay === undefined ? "" : requestsText(stay)) },
                      { title: "TAGS", of: ({ tags = [] }) => tags.join(" ") },
                      { title: "ABOUT", of: ({ description = "" }) => description },
                    ],
                    output.style,
                  ),
                ]),
            tableText(
              events,
              [
                { title: "EVENT", of: ({ event }) => event },
                { title: "FIELDS", of: ({ fields }) => fields.join(" ") },
              ],
              output.style,
            ),
            filledTableText(
              transitions,
              [
                { title: "FROM", of: ({ from }) => from },
                { title: "ON", of: ({ event }) => event },
                { title: "TO", of: ({ to }) => to },
                { title: "IF", of: ({ guards }) => guards },
                { title: "REQUESTS", of: ({ requests }) => requests },
              ],
              output.style,
            ),
          ].join("\n"),
      )
    }).pipe(Effect.provide(observed(input))),
)

/** The events of a workflow, each with an example value. */
const eventsText = (schemas: Readonly<Record<string, Schema.Json>>): string =>
  Object.entries(schemas)
    .map(([event, schema]) => `${event} ${JSON.stringify(exampleOf(schema))}`)
    .join(", ")

const diagram = command(
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

const check = command(
  {
    name: "machine check",
    summary: "find stored instances that do not replay with the current definition",
    detail:
      "Run it before a deploy: it changes nothing. Instances that have ended are counted and skipped.\n" +
      "Exits with 1 if an instance does not replay, or belongs to a machine that is not in detent.config.ts.",
    arguments: [{ ...machineArgument, optional: true }],
    options: [
      { name: "allow-unregistered", kind: "flag", summary: "accept stored instances of machines that are not in detent.config.ts" },
    ],
    examples: [{ line: "detent machine check order", says: "replays every stored order that has not ended" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const reports: ReadonlyArray<machines.MachineReport> = yield* machines.check(input.machine)
      yield* output.rows(
        reports,
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "CHECKED", of: ({ checked }) => checked },
          { title: "ENDED (SKIPPED)", of: ({ ended }) => ended },
          { title: "FAILING", of: ({ failing }) => failing.length },
          {
            title: "FIRST PROBLEM",
            of: ({ registered, unchecked, failing: [first] }) => {
              if (!registered) return `not in detent.config.ts: ${unchecked} not checked`
              if (first === undefined) return ""
              return `${first.id}, ${first.sequence === 0 ? "its first state" : `event ${first.sequence}`}: ${first.problem}`
            },
          },
        ],
        "no machines",
      )
      const failing = reports.reduce((sum, report) => sum + report.failing.length, 0)
      if (failing > 0)
        yield* output.note(
          `${failing} would not open: correct the definition or add upcasters, or \`detent instance repair\` them one by one`,
        )
      const unchecked = input["allow-unregistered"] ? [] : reports.filter((report) => report.unchecked > 0)
      for (const { machine, unchecked: count } of unchecked)
        yield* output.note(
          `${count} of ${machine} ${count === 1 ? "was" : "were"} not checked: add it to machines in detent.config.ts, or accept that with --allow-unregistered`,
        )
      return failing > 0 || unchecked.length > 0 ? ExitCode.failed : ExitCode.ok
    }).pipe(Effect.provide(observed(input))),
)

export const noun = { name: "machine", summary: "definitions: list, show, draw, check" }

export const commands = [list, show, diagram, check]
