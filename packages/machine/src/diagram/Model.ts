/**
 * A machine as JSON for other tools: the blueprint, with a format name that changes when its shape does. A key that only some
 * machines need (`label`, `outcome`, `actions`, `completes`, `tags`, `description` of a state or group, `initial`, `stay` and `region`
 * of a group, `group` of a timeout, `history` of a target) is left out by the others. Every other key is always present, `null` where
 * the blueprint has undefined.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Blueprint } from "../contract/Blueprint.ts"
import { blueprintOf, type Source } from "./Scene.ts"

/** The format this version writes and reads. */
export const format = "detent-machine/1"

const Names = Schema.Array(Schema.String)
const Maybe = Schema.UndefinedOr(Schema.String)

const Field = Schema.Struct({ name: Schema.String, sensitive: Schema.Boolean })

const stay = {
  requestsOnEnter: Names,
  requestsOnExit: Names,
  runs: Names,
  working: Schema.Boolean,
  actions: Schema.optionalKey(
    Schema.Array(Schema.Struct({ phase: Schema.Literals(["enter", "work", "exit"]), name: Schema.String, slots: Names })),
  ),
}

const meta = { tags: Schema.optionalKey(Names), description: Schema.optionalKey(Schema.String) }

const State = Schema.Struct({
  tag: Schema.String,
  fields: Schema.Array(Field),
  group: Maybe,
  initial: Schema.Boolean,
  final: Schema.Boolean,
  outcome: Schema.optionalKey(Schema.Literal("failure")),
  ...stay,
  completes: Schema.optionalKey(Names),
  ...meta,
})

const Event = Schema.Struct({ tag: Schema.String, fields: Schema.Array(Field), group: Maybe, reply: Schema.Boolean })

const Group = Schema.Struct({
  name: Schema.String,
  parent: Maybe,
  members: Names,
  initial: Schema.optionalKey(Schema.String),
  stay: Schema.optionalKey(Schema.Struct(stay)),
  region: Schema.optionalKey(Schema.Literal(true)),
  ...meta,
})

const Target = Schema.Union([
  Schema.Struct({
    _tag: Schema.tag("State"),
    state: Schema.String,
    history: Schema.optionalKey(Schema.Struct({ group: Schema.String, deep: Schema.Boolean, states: Names })),
  }),
  Schema.Struct({ _tag: Schema.tag("Stay") }),
  Schema.Struct({ _tag: Schema.tag("Stop"), reason: Maybe }),
])

const common = {
  from: Schema.String,
  targets: Schema.Array(Target),
  guards: Names,
  requests: Names,
  description: Maybe,
  label: Schema.optionalKey(Names),
}

const Transition = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Event"), event: Schema.String, fallback: Schema.Boolean, reenter: Schema.Boolean, ...common }),
  Schema.Struct({ _tag: Schema.tag("Postpone"), event: Schema.String, ...common }),
  Schema.Struct({ _tag: Schema.tag("Always"), ...common }),
  Schema.Struct({
    _tag: Schema.tag("Timeout"),
    name: Schema.String,
    after: Maybe,
    idle: Schema.Boolean,
    group: Schema.optionalKey(Schema.String),
    ...common,
  }),
])

/** Deeper than any real machine, and no deeper than the drawing functions can recurse. */
const deepest = 100

const Groups = Schema.Array(Group).check(
  Schema.makeFilter((groups) => {
    const parents = new Map(groups.map(({ name, parent }) => [name, parent]))
    const depths = new Map<string, number>()
    for (const { name } of groups) {
      const above: Array<string> = []
      for (let group: string | undefined = name; group !== undefined && !depths.has(group); group = parents.get(group)) {
        above.push(group)
        depths.set(group, 0)
      }
      for (const group of above.reverse()) depths.set(group, 1 + (depths.get(parents.get(group) ?? "") ?? 0))
    }
    const tooDeep = groups.find(({ name }) => (depths.get(name) ?? 0) > deepest)
    return tooDeep === undefined ? undefined : `group ${tooDeep.name} is more than ${deepest} groups deep`
  }),
)

const Model = Schema.Struct({
  format: Schema.Literal(format),
  name: Schema.String,
  version: Schema.Finite,
  states: Schema.Array(State),
  stateGroups: Groups,
  events: Schema.Array(Event),
  eventGroups: Groups,
  transitions: Schema.Array(Transition),
  guards: Names,
  effects: Names,
})

/** Decodes the parsed JSON to a blueprint with its format, and encodes it back. */
export const schema = Schema.toCodecJson(Model)

/** The machine as indented JSON, keys in a fixed order. */
export const json = (source: Source): string =>
  `${JSON.stringify(Schema.encodeSync(schema)({ format, ...blueprintOf(source) }), undefined, 2)}\n`

/** Parses the output of {@link json}. Fails where the text is not a model of this format. */
export const parse = (text: string): Effect.Effect<Blueprint, Schema.SchemaError> =>
  Effect.map(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text), ({ format: _, ...blueprint }) => blueprint)
