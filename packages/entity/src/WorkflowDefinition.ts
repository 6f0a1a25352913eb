/**
 * An entity workflow as data: the content of a JSON file and the argument of {@link EntityWorkflow.make}. Its types, its validation and
 * its JSON Schema come from this schema. Rules that a schema cannot express, such as that a transition leads to an existing state,
 * are in CheckDefinition.ts.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The source of a transition that can be taken in any state that is not an end. */
export const anyState = "*"

// Names that every machine refuses, and keywords of the file.
const namePattern = /^(?!(?:Type|constructor|prototype|__proto__)$)(?![$@(*])[^\p{Cc}]{1,100}$/u

const Name = Schema.String.check(
  Schema.isPattern(namePattern, {
    expected: "a name of 1 to 100 characters that starts with none of $ @ ( * and is none of Type, constructor, prototype, __proto__",
  }),
)

const isDuration = (given: string): boolean =>
  Option.match(Duration.fromInput(given as Duration.Input), { onNone: () => false, onSome: (duration) => Duration.toMillis(duration) >= 0 })

const DurationText = Schema.Union([
  Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  Schema.String.check(
    Schema.isPattern(/^\d+(\.\d+)? (milli|second|minute|hour|day|week)s?$/u, { expected: 'a duration such as "30 seconds"' }),
    Schema.makeFilter(isDuration, { expected: 'a duration such as "30 seconds"' }),
  ),
]).annotate({ description: 'Milliseconds, or a text such as "30 seconds".' })

/** How often a processor that fails is retried, and the delays between attempts. */
export const RetryPolicy = Schema.Struct({
  attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })).annotate({
    description: "The total number of attempts. 1: no retry.",
  }),
  delay: Schema.optionalKey(DurationText.annotate({ description: "The time before the second attempt. Default: one second." })),
  backoff: Schema.optionalKey(
    Schema.Literals(["fixed", "exponential"]).annotate({
      description: "Whether the delay stays the same or grows with each attempt. Default: fixed.",
    }),
  ),
  factor: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "The factor of an exponential delay. Default: 2.",
    }),
  ),
  longest: Schema.optionalKey(DurationText.annotate({ description: "The longest delay. Default: no limit." })),
}).annotate({ identifier: "RetryPolicy", description: "How a failed processor is retried." })
export type RetryPolicy = typeof RetryPolicy.Type

/** A processor by name, with a retry policy that replaces the registered one. */
const ProcessorReference = Schema.Union([Name, Schema.Struct({ name: Name, retry: RetryPolicy })])
export type ProcessorReference = typeof ProcessorReference.Type

/** The name in a reference. */
export const processorName = (reference: ProcessorReference): string => (typeof reference === "string" ? reference : reference.name)

export const TransitionDefinition = Schema.Struct({
  name: Name.annotate({ description: "The name of the transition. An event of this name requests a manual transition." }),
  from: Schema.Union([Schema.Literal(anyState), Name, Schema.Array(Name).check(Schema.isMinLength(1))]).annotate({
    description: 'The source state, a list of source states, or "*" for any state that is not an end.',
  }),
  to: Name.annotate({ description: "The target state." }),
  manual: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether the transition is taken on request. Default: false, it is taken as soon as its criteria hold.",
    }),
  ),
  processors: Schema.optionalKey(
    Schema.Array(ProcessorReference).annotate({
      description: "Processors run one after the other on a draft of the entity, which is stored with the transition or not at all.",
    }),
  ),
  criteria: Schema.optionalKey(Schema.Array(Name).annotate({ description: "The conditions of the transition. All of them must hold." })),
  criteriaAfter: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether the criteria check the entity after the processors. Default: false, before them.",
    }),
  ),
  processIn: Schema.optionalKey(
    Schema.Literals(["source", "target"]).annotate({
      description:
        "The state of the entity while processors with effects run: the source or the target of the transition. Default: source.",
    }),
  ),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
}).annotate({ identifier: "Transition", description: "A named transition from one or more states to a target state." })
export type TransitionDefinition = typeof TransitionDefinition.Type

export const WorkflowDefinition = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "The address of the JSON Schema of this file, for editors." })),
  name: Name.annotate({ description: "The name of the workflow and of its machine." }),
  version: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "The version. Increase it when stored instances have to be converted. Default: 1.",
    }),
  ),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  initial: Name.annotate({ description: "The state of a new entity." }),
  states: Schema.Array(Name).check(Schema.isMinLength(1), Schema.isMaxLength(10_000)),
  ends: Schema.optionalKey(
    Schema.Array(Name).annotate({
      description: 'Final states. Default: the states that no transition names in "from".',
    }),
  ),
  failure: Schema.optionalKey(
    Name.annotate({
      description: "The transition that is taken when the processors of another transition have failed permanently.",
    }),
  ),
  transitions: Schema.Array(TransitionDefinition).check(Schema.isMaxLength(50_000)),
}).annotate({ identifier: "EntityWorkflow", description: "States and named transitions of one kind of entity." })
export type WorkflowDefinition = typeof WorkflowDefinition.Type

/** The states that a transition leaves, or {@link anyState}. */
export const sourcesOf = ({ from }: TransitionDefinition): ReadonlyArray<string> | typeof anyState =>
  from === anyState ? anyState : typeof from === "string" ? [from] : from

/** The states without transitions. */
export const endsOf = ({ states, ends, transitions }: WorkflowDefinition): ReadonlySet<string> => {
  if (ends !== undefined) return new Set(ends)
  const left = new Set(transitions.flatMap(sourcesOf))
  return new Set(states.filter((state) => !left.has(state)))
}

/** The JSON Schema of a workflow file, so that an editor can check and complete it. */
export const jsonSchema = (): object => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(WorkflowDefinition, { onExcessProperty: "error" })
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "Entity workflow", ...schema, $defs: definitions }
}
