import { DocumentId, isFactCursor } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../../Failure.ts"
import { notACursor } from "../../workspace/Cursor.ts"
import { keyOption, paging } from "../shared.ts"

export const versionOption = {
  name: "version",
  kind: "text",
  value: "VERSION",
  summary: "a version, as `detent graph versions` shows it. Default: the current version",
} as const

export const namespace = {
  name: "namespace",
  kind: "text",
  value: "NAME",
  summary: "the graph; not needed where there is only one",
} as const

/** The options of a page of facts or entities. */
export const pageOptions = [namespace, versionOption, ...paging] as const

/** The cursor of a page as text for `--after`. */
export const cursorOf = (place: string): string => Buffer.from(place).toString("base64url")

export const placeOf = (text: string | undefined): Effect.Effect<{ readonly after?: string }, WrongUsage> => {
  if (text === undefined) return Effect.succeed({})
  const after = Buffer.from(text, "base64url").toString("utf8")
  return isFactCursor(after) ? Effect.succeed({ after }) : Effect.fail(notACursor(text))
}

export const actorOption = { name: "by", kind: "text", value: "NAME", summary: "who decides. Default: your user name" } as const

/** The options of a decision on entities. */
export const identityOptions = [
  { name: "reason", kind: "text", value: "TEXT", summary: "why; kept with the decision" },
  actorOption,
  keyOption,
] as const

export const documentOption = {
  name: "document",
  kind: "text",
  value: "IDS",
  summary: "ids of documents with commas between, as `detent graph provenance --json` shows them",
} as const

export const documentIds = (text: string): Effect.Effect<ReadonlyArray<DocumentId>, WrongUsage> =>
  Schema.decodeUnknownEffect(Schema.NonEmptyArray(DocumentId))(text.split(",").map((id) => id.trim())).pipe(
    Effect.mapError(
      () =>
        new WrongUsage({
          problem: `--document ${text} has something else than ids of documents`,
          nextStep: "see `detent graph provenance --json`",
        }),
    ),
  )

/** The number of a decision on entities. */
export const decisionNumber = (text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ problem: `${text} is not the number of a decision`, nextStep: "see `detent graph decisions`" }))

/** The text of a value, or the label of an entity. */
export const objectText = (fact: { readonly object: string; readonly objectLabel?: string }): string => fact.objectLabel ?? fact.object

/** Refuses a name, whose entity may be one of several. */
export const entityIri = (entity: string): Effect.Effect<string, WrongUsage> =>
  /^[a-z][a-z0-9+.-]*:\S+$/i.test(entity)
    ? Effect.succeed(entity)
    : Effect.fail(
        new WrongUsage({
          problem: `${JSON.stringify(entity)} is not the IRI of an entity`,
          nextStep: `find it with: detent graph entities ${JSON.stringify(entity)}`,
        }),
      )
