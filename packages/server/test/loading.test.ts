import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, it } from "vitest"

/** The modules of knowledge and uploads that a process has loaded after an import, and the libraries that only they use. */
const loadedBy = async (specifier: string): Promise<ReadonlyArray<string>> => {
  const program = `
    import { registerHooks } from "node:module"
    const loaded = new Set()
    registerHooks({
      load(url, context, next) {
        const found = /\\/packages\\/((?:knowledge|uploads)\\/.*)$/.exec(url) ?? /\\/node_modules\\/(n3|oxigraph|unpdf|htmlparser2|csv-parse|rdf-[^/]*|rdfxml-[^/]*|jsonld-[^/]*|openai|@anthropic-ai)\\//.exec(url)
        if (found !== null) loaded.add(found[1])
        return next(url, context)
      },
    })
    await import(${JSON.stringify(specifier)})
    console.log(JSON.stringify([...loaded].sort()))
  `
  const options = { cwd: import.meta.dirname, encoding: "utf8" } as const
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], options)
  return JSON.parse(stdout)
}

/** The definition of the API names the data of batches, graphs and uploads, and nothing that works on them. */
const dataOfTheApi = [
  "knowledge/src/KnowledgeSettings.ts",
  "knowledge/src/batch/BatchConfig.ts",
  "knowledge/src/batch/BatchProgress.ts",
  "knowledge/src/batch/BatchState.ts",
  "knowledge/src/batch/Manifest.ts",
  "knowledge/src/extract/model/Prices.ts",
  "knowledge/src/graph/DiffFact.ts",
  "knowledge/src/graph/ExportFormat.ts",
  "knowledge/src/review/ReviewItem.ts",
  "knowledge/src/runs/Run.ts",
  "knowledge/src/schemas.ts",
  "knowledge/src/storage/Identity.ts",
  "knowledge/src/storage/Quantity.ts",
  "knowledge/src/storage/Uri.ts",
  "knowledge/src/threads/ContentLimits.ts",
  "knowledge/src/validate/Violation.ts",
  "uploads/src/item/HNItem.ts",
]

it.each(["@detent/server", "@detent/server/client", "@detent/server/api"])(
  "importing %s loads the data that knowledge and uploads exchange, and none of their code",
  async (specifier) => {
    expect(await loadedBy(specifier)).toEqual(dataOfTheApi)
  },
  60_000,
)

it.each(["@detent/server/serve", "@detent/server/Config", "@detent/workspace", "@detent/workspace/operations/instances"])(
  "importing %s loads nothing of knowledge and uploads",
  async (specifier) => {
    expect(await loadedBy(specifier)).toEqual([])
  },
  60_000,
)
