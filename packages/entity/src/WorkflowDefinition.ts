/**
 * An entity workflow as data: the content of a JSON file and the argument of {@link EntityWorkflow.make}. This schema is the one
 * source of its types, its validation and its JSON Schema. Rules that a schema cannot express, such as that a transition leads
 * to an existing state, are in CheckDefinition.ts.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The source of a transition that can be taken in any state which is not an end. */
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
    Schema.isPattern(/^\d+(\.\d+)? (milli|second|minute|hour|day|week)s?$/, { expected: 'a duration such as "30 seconds"' }),
    Schema.makeFilter(isDuration, { expected: 'a duration such as "30 seconds"' }),
  ),
]).annotate({ description: 'Milliseconds, or a text such as "30 seconds".' })

/** How often a processor that fails is retried, and the delays between attempts. */
export const RetryPolicy = Schema.Struct({
  attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })).annotate({
    description: "The number of attempts in all. 1: it is not retried.",
  }),
  delay: Schema.optionalKey(DurationText.annotate({ description: "The time before the second attempt. One second if left out." })),
  backoff: Schema.optionalKey(
    Schema.Literals(["fixed", "exponential"]).annotate({
      description: "Whether the delay stays the same (the default) or grows with each attempt.",
    }),
  ),
  factor: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "The factor of an exponential delay. 2 if left out.",
    }),
  ),
  longest: Schema.optionalKey(DurationText.annotate({ description: "No delay is longer than this." })),
}).annotate({ identifier: "RetryPolicy", description: "How a processor that fails is tried again." })
export type RetryPolicy = typeof RetryPolicy.Type

/** A processor by name, with a retry policy that replaces the registered one. */
const ProcessorReference = Schema.Union([Name, Schema.Struct({ name: Name, retry: RetryPolicy })])
export type ProcessorReference = typeof ProcessorReference.Type

/** The name in a reference. */
export const processorName = (reference: ProcessorReference): string => (typeof reference === "string" ? reference : reference.name)

export const TransitionDefinition = Schema.Struct({
  name: Name.annotate({ description: "A manual transition is taken by the event of this name." }),
  from: Schema.Union([Schema.Literal(anyState), Name, Schema.Array(Name).check(Schema.isMinLength(1))]).annotate({
    description: 'The state it leaves, several of them, or "*" for any state that is not an end.',
  }),
  to: Name.annotate({ description: "The state it leads to." }),
  manual: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Taken on request. Default: automatic, as soon as its criteria hold.",
    }),
  ),
  processors: Schema.optionalKey(
    Schema.Array(ProcessorReference).annotate({
      description: "Run one after the other on a draft of the entity, which is stored with the transition or not at all.",
    }),
  ),
  criteria: Schema.optionalKey(Schema.Array(Name).annotate({ description: "All of them must hold." })),
  criteriaAfter: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Judge the entity after the processors, not before them.",
    }),
  ),
  processIn: Schema.optionalKey(
    Schema.Literals(["source", "target"]).annotate({
      description:
        "The state the entity is in while processors with effects run: the one it leaves (the default), or the one the transition leads to.",
    }),
  ),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
}).annotate({ identifier: "Transition", description: "How an entity gets from one state to another." })
export type TransitionDefinition = typeof TransitionDefinition.Type

export const WorkflowDefinition = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "The address of the JSON Schema of this file, for editors." })),
  name: Name.annotate({ description: "The name of its machine." }),
  version: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
      description: "Counts up when stored instances have to be converted. 1 if left out.",
    }),
  ),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  initial: Name.annotate({ description: "The state a new entity is in." }),
  states: Schema.Array(Name).check(Schema.isMinLength(1), Schema.isMaxLength(10_000)),
  ends: Schema.optionalKey(
    Schema.Array(Name).annotate({
      description: 'Final states. If left out: those that no transition names in "from".',
    }),
  ),
  failure: Schema.optionalKey(
    Name.annotate({
      description: "The transition that is taken when the processors of another one have failed for good.",
    }),
  ),
  transitions: Schema.Array(TransitionDefinition).check(Schema.isMaxLength(50_000)),
}).annotate({ identifier: "EntityWorkflow", description: "States and named transitions of one kind of entity." })
export type WorkflowDefinition = typeof WorkflowDefinition.Type

/** The states a transition names, or {@link anyState}. */
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
