import { localName, type Place } from "@detent/knowledge"
import * as graph from "@detent/workspace/operations/graph"
import * as explore from "@detent/workspace/operations/graphExplore"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { chooseProperty } from "../../graph/chooseTerm.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { upTo } from "../shared.ts"
import { cursorOf, entityIri, objectText, pageOptions, placeOf } from "./shared.ts"

const { observing } = knowledge

interface Placed {
  readonly places?: ReadonlyArray<Place>
}

const placeText = (place: Place): string => {
  switch (place._tag) {
    case "Cell":
      return `${place.sheet === undefined ? "" : `${place.sheet}, `}record ${place.record}, ${place.column}`
    case "Pointer":
      return place.pointer
    case "Page":
      return `page ${place.page}`
    case "Characters":
      return `characters ${place.start}-${place.end}`
  }
}

export default command(
  {
    name: "graph provenance",
    summary: "the documents and the words that state the facts of an entity",
    arguments: [{ name: "entity", summary: "the entity's IRI, as `detent graph entities` shows it" }],
    options: [
      {
        name: "places",
        kind: "flag",
        summary: "also show the place of the words in the source: table cell, JSON pointer, page or characters",
      },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      { name: "object", kind: "text", value: "VALUE", summary: "only facts with this object: an IRI, or the text of a value" },
      ...pageOptions,
    ],
    examples: [
      { line: "detent graph provenance http://example.org/people/ada --json", says: "each fact with its quote" },
      { line: "detent graph provenance http://example.org/people/ada --places", says: "with the cell, value or page of each fact" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const subject = yield* entityIri(input.entity)
      const version = yield* chooseVersion(input)
      const { places, object, limit } = input
      const property = yield* chooseProperty(version, input.property)
      const isOneFact = property !== undefined || object !== undefined
      if (isOneFact && places)
        return yield* new WrongUsage({ problem: "--places shows all facts of an entity", nextStep: "remove --property and --object" })
      const page = yield* upTo(limit, (yield* placeOf(input.after)).after, (most, after) =>
        Effect.map(
          isOneFact
            ? explore.facts(version, { subject, property, object, limit: most, ...optional({ after }) })
            : graph.provenance(version, subject, { ...optional({ after }), limit: most, places }),
          ({ facts: items, next }) => ({ items, next }),
        ),
      )
      yield* output.rows(
        page.items,
        [
          { title: "PROPERTY", of: ({ property }) => localName(property) },
          { title: "OBJECT", of: objectText },
          { title: "DOCUMENT", of: ({ documentId, source }) => source ?? documentId },
          ...(places ? [{ title: "PLACE", of: ({ places: found = [] }: Placed) => found.map(placeText).join(", ") }] : []),
          { title: "WORDS", of: ({ quote }) => quote },
        ],
        "no fact of this entity",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
