/** The side of the worker that reads shapes and holds a graph against them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Ontology } from "../ontology/Ontology.ts"
import { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { SortFailed } from "../rdf/LineSort.ts"
import { RdfSyntaxError } from "../rdf/RdfReading.ts"
import { outcomeOf } from "../threads/Outcome.ts"
import { itemsOf, type TaskChannel } from "../threads/TaskChannel.ts"
import type { GraphChange } from "./AffectedNodes.ts"
import { derivedShapes } from "./DerivedShapes.ts"
import { type Quarantine, quarantine } from "./Quarantine.ts"
import { readShapes, ShapesRefused } from "./Shapes.ts"
import { type Found, ValidationFailed, validate } from "./Validation.ts"

export const ShapesError = Schema.Union([RdfSyntaxError, ShapesRefused])
export type ShapesError = typeof ShapesError.Type

export const ValidationError = Schema.Union([RdfSyntaxError, ShapesRefused, ValidationFailed, SortFailed])
export type ValidationError = typeof ValidationError.Type

/** Shapes as they are written, and what errors call them. */
export interface ShapesText {
  readonly text: string
  readonly source: string
}

export interface ValidationInput {
  /** Absent: the shapes that the ontology implies. */
  readonly shapes: ShapesText | undefined
  /** Whether statements are held back until the graph conforms. */
  readonly isQuarantine: boolean
}

/** `held` is in order, and absent where nothing is to be held back. */
export type ValidationOutput = Omit<Found, "offenders"> &
  Partial<Pick<Quarantine, "remaining" | "statements">> & {
    readonly held?: { readonly lines: ReadonlyArray<string>; readonly entities: ReadonlyArray<string> }
  }

export const validation = <E>(
  { shapes, isQuarantine }: ValidationInput,
  change: GraphChange<E>,
  ontology: OntologyIndex,
): Effect.Effect<ValidationOutput, E | ValidationError> =>
  Effect.gen(function* () {
    const read = yield* readShapes(shapes?.text ?? derivedShapes(ontology), shapes?.source ?? "the ontology")
    if (!isQuarantine) {
      const { violations, warnings, listed } = yield* validate(change, read, ontology)
      return { violations, warnings, listed }
    }
    const { violations, warnings, listed, held, remaining, statements } = yield* quarantine(change, read, ontology)
    return { violations, warnings, listed, remaining, statements, held: { lines: held.lines(), entities: held.entities() } }
  })

export interface ValidationTaskInput extends ValidationInput {
  readonly ontology: Ontology
  /** Which parts of the change there are: each is a source. */
  readonly parts: ReadonlyArray<keyof GraphChange<never>>
}

export const validationTask = ({ ontology, parts, ...input }: ValidationTaskInput, channel: TaskChannel) => {
  const part = (name: keyof GraphChange<never>) => (parts.includes(name) ? { [name]: itemsOf<string>(channel, name) } : {})
  const change: GraphChange<never> = { added: itemsOf<string>(channel, "added"), ...part("existing"), ...part("replaced") }
  return outcomeOf(ValidationError, validation(input, change, new OntologyIndex(ontology)))
}

export const shapesTask = ({ text, source }: ShapesText) => outcomeOf(ShapesError, Effect.asVoid(readShapes(text, source)))
