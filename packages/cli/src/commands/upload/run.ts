import { createReadStream, openAsBlob } from "node:fs"
import { basename } from "node:path"
import type { Existing, Mapping, TableOptions } from "@detent/uploads"
import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ExitCode } from "../../ExitCode.mjs"
import { NothingFound, WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { checkKey, headersOf } from "../../workspace/Changing.ts"
import { uploads as opening, type Place } from "../../workspace/Opening.ts"
import { neededServer, type RunningServer, runningServerWith } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { followOnServer, workOn } from "./following.ts"
import { isFile } from "./shared.ts"
import { givenTable, mappingOption, readMapping, tableOptions } from "./table.ts"

const { working } = opening

export default command(
  {
    name: "upload run",
    summary: "upload a file of items (CSV, TSV, XLSX, JSON, JSON lines, also gzip or zstd)",
    detail:
      "Valid items are stored, invalid items are refused with their reason. After a stop or kill, `detent upload retry` resumes it.\n" +
      "The kind of its items is an upload that detent.config.ts defines: `detent upload kinds` lists them. Without a configuration, it is\n" +
      "Items: objects with an id. Format, encoding, delimiter, quote, header and sheet are found in the file, and shown by\n" +
      "`detent upload show`; where they are found wrong, give them.",
    arguments: [{ name: "file", summary: "a local file", complete: "file" }],
    options: [
      { name: "kind", kind: "text", value: "NAME", summary: "the kind of its items. Default: the first upload of the configuration" },
      { name: "force", kind: "flag", summary: "upload even if the same file was uploaded before" },
      {
        name: "existing",
        kind: "text",
        value: "WHAT",
        choices: ["update", "skip"],
        summary: "items whose id is stored already: update replaces those that differ, skip keeps them. Default: update",
      },
      { name: "dry-run", kind: "flag", summary: "count what the upload would insert, update, skip and refuse; nothing is stored" },
      { name: "md5", kind: "text", value: "HEX", summary: "the MD5 that the file must have; a damaged file is refused" },
      mappingOption,
      ...tableOptions,
      keyOption,
      { name: "detach", kind: "flag", summary: "start the upload on the running server of this workspace, and do not follow it" },
    ],
    examples: [
      { line: "detent upload run items.json", says: "exits with 5 if some items were refused" },
      { line: "detent upload run items.jsonl.gz --force --json", says: "uploads the file again, with progress as JSON lines" },
      { line: "detent upload run orders.csv --encoding windows-1252 --delimiter ';'", says: "a table whose format was found wrong" },
      { line: "detent upload run products.csv --mapping mapping.json", says: "by a mapping that `detent upload map` has shown" },
      { line: "detent upload run products.csv --dry-run", says: "how many items are new, changed, the same or invalid" },
      { line: "detent upload run products.json --kind Products", says: "items of an upload that detent.config.ts defines" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      yield* checkKey(input.key)
      yield* checkMd5(input.md5)
      yield* isFile(input.file)
      const given = yield* givenTable(input)
      const mapping = yield* readMapping(input.mapping)
      if (input["dry-run"]) return yield* showPlan(input, given, mapping)
      const server = input.detach ? yield* neededServer(input, "uploads") : yield* runningServerWith(input, "uploads")
      if (server !== undefined) return yield* followOnServer(input, yield* sendToServer(server, { ...input, given, mapping }))
      return yield* Effect.gen(function* () {
        const { batchId } = yield* startHere({ ...input, given, mapping })
        return yield* workOn(input, batchId)
      }).pipe(Effect.provide(working(input)))
    }),
)

const checkMd5 = (md5: string | undefined): Effect.Effect<void, WrongUsage> =>
  md5 === undefined || /^[0-9a-fA-F]{32}$/.test(md5)
    ? Effect.void
    : Effect.fail(
        new WrongUsage({ problem: `--md5 ${md5} is not an MD5`, nextStep: "it has 32 hexadecimal digits, as md5sum prints them" }),
      )

/** Reads the file and the database here, also where a server runs: nothing is changed. */
const showPlan = (
  input: Place & Pick<SentFile, "file" | "kind" | "existing">,
  given: TableOptions,
  mapping: Mapping | "none" | undefined,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    const plan = yield* operations.plan(input.file, { ...optional({ kind: input.kind, existing: input.existing, mapping }), given })
    const { insert, update, skip, fail, errors, format } = plan
    const reasons = errors.map(({ reason, count, example = "" }) => `refuse    ${count} ${reason}, such as ${example}\n`).join("")
    yield* output.value(
      plan,
      () =>
        `format    ${format}\ninsert    ${insert}\nupdate    ${update}\nskip      ${skip}\nrefuse    ${fail}\n${fail === 0 ? "" : reasons}`,
    )
    return fail === 0 ? ExitCode.ok : ExitCode.inPart
  }).pipe(Effect.provide(opening.observing(input)))

interface SentFile {
  readonly file: string
  readonly force: boolean
  readonly kind: string | undefined
  readonly md5: string | undefined
  readonly key: string | undefined
  readonly given: TableOptions
  readonly mapping: Mapping | "none" | undefined
  readonly existing: Existing | undefined
}

/** With a key, the upload keeps a copy of the file, as a server does: another file with the same key is then refused. */
const startHere = ({ file, force, kind, existing, md5, key, given, mapping }: SentFile) => {
  if (key === undefined) return operations.start(file, { force, kind, existing, md5, given, mapping })
  const content = NodeStream.fromReadable<Uint8Array, WrongUsage>({
    evaluate: () => createReadStream(file),
    onError: (cause) => new WrongUsage({ problem: `${file} cannot be read: ${String(cause)}`, nextStep: "correct it and start again" }),
  })
  return operations.receive({ fileName: basename(file), content }, { key, force, kind, existing, md5, given, mapping })
}

const Accepted = Schema.Struct({ batchId: Schema.String })

const sendToServer = (server: RunningServer, { file, force, kind, existing, md5, key, given, mapping }: SentFile) =>
  Effect.gen(function* () {
    const blob = yield* Effect.tryPromise({
      try: () => openAsBlob(file),
      catch: () => new NothingFound({ what: `file ${file}`, nextStep: "name a file of items" }),
    })
    const form = new FormData()
    if (mapping !== undefined) form.append("mapping", mapping === "none" ? mapping : JSON.stringify(mapping))
    form.append("file", blob, basename(file))
    const table = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
    const query = new URLSearchParams({ ...(force ? { force: "true" } : {}), ...optional({ kind, existing, md5 }), ...table }).toString()
    const answer = yield* server.post(`/api/v1/uploads${query === "" ? "" : `?${query}`}`, { form }, headersOf(key))
    return (yield* Schema.decodeUnknownEffect(Accepted)(answer)).batchId
  })
