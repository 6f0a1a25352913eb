import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"

const { observing } = opening

export default command(
  {
    name: "upload search",
    summary: "search stored items by words and fields",
    arguments: [{ name: "text", summary: "words that the item contains", optional: true }],
    options: [
      { name: "kind", kind: "text", value: "NAME", summary: "the kind of the items. Default: the first upload of the configuration" },
      { name: "where", kind: "text", value: "FIELD=VALUE", summary: "only items with this value; separate several with commas" },
      { name: "upload", kind: "text", value: "ID", summary: "only items of this upload" },
      {
        name: "from",
        kind: "text",
        value: "N",
        summary: "only items from this time on, in the unit of the items",
      },
      { name: "until", kind: "text", value: "N", summary: "only items before this time" },
      ...paging,
    ],
    examples: [
      { line: "detent upload search database --limit 5", says: "the newest items first" },
      { line: 'detent upload search "lathe -saw"', says: "items with the one word and without the other" },
      {
        line: "detent upload search lathe --kind Products --where brand=Acme",
        says: "items of an upload that detent.config.ts defines",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      return yield* searchKind(input.kind ?? (yield* defaultKind), input)
    }).pipe(Effect.provide(observing(input))),
)

/** The kind of a file that `upload run` gets without `--kind`. */
const defaultKind = Effect.map(operations.kinds, ({ kinds: known }) => known.find(({ isDefault }) => isDefault)?.name ?? "Items")

interface Search {
  readonly text: string | undefined
  readonly where: string | undefined
  readonly upload: string | undefined
  readonly from: string | undefined
  readonly until: string | undefined
  readonly limit: number
  readonly after: string | undefined
}

const period = (input: Search) => Effect.all({ from: timeOf("from", input.from), until: timeOf("until", input.until) })

const timeOf = (option: string, text: string | undefined): Effect.Effect<number | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({
          problem: `--${option} ${text} is not a number`,
          nextStep: "write the time in the unit of the items, such as 1175714200",
        }),
      )
}

/** Searches items of any kind, by words and fields. */
const searchKind = (kind: string, input: Search) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { text, upload: batchId, after, limit } = input
    const where = yield* fieldsAsked(input.where)
    const page = yield* operations.searchKind(kind, { ...optional({ text, batchId, after, ...(yield* period(input)) }), where, limit })
    yield* output.rows(
      page.items,
      [
        { title: "ID", of: ({ id }) => id },
        { title: "ITEM", of: ({ item }) => JSON.stringify(item) },
      ],
      `no stored item of ${kind} fits`,
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
  })

const fieldsAsked = (text: string | undefined): Effect.Effect<Readonly<Record<string, string>>, WrongUsage> => {
  // A comma ends a value only before another field, so that a value may contain commas.
  const pairs = (text === undefined ? [] : text.split(/,(?=[^=,]*=)/)).map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  return pairs.includes(null)
    ? Effect.fail(new WrongUsage({ problem: `--where ${text} is not a field with a value`, nextStep: "write it as FIELD=VALUE" }))
    : Effect.succeed(Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""])))
}
