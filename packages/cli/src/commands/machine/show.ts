import { exampleFields, exampleOf } from "@detent/workspace/ExampleJson"
import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { command } from "../../line/Command.ts"
import { countText, requestsText, stateMeta, stateRequests } from "../../machine/MachineView.ts"
import { Output } from "../../output/Output.ts"
import { filledTableText, pairsText, tableText } from "../../output/Table.ts"
import { observed } from "../../workspace/Opening.ts"
import { machineArgument } from "../shared.ts"

export default command(
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
      if (!("blueprint" in shown) || shown.kind !== "machine")
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
                ...(row.indexes === undefined
                  ? []
                  : [["indexes", row.indexes.map(({ name, kind }) => `${name} (${kind})`).join(", ")] as const]),
                ...(row.indexing === undefined ? [] : [["indexing", `${row.indexing.filled} instances read so far`] as const]),
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
