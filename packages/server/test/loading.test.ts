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

/** What works on documents, graphs and files, and every library. The definition of the API names their data, and needs none of it. */
const isAtWork = (module: string): boolean =>
  !/^(?:knowledge|uploads)\/src\//.test(module) ||
  /\/src\/(?:(?:index|Knowledge|Uploads|batch\/Batches|runs\/Extractions|graph\/CanonicalGraph|graph\/GraphQuery)\.ts|document\/|stages\/)/.test(
    module,
  )

it.each(["@detent/api", "@detent/api/client"])(
  "importing %s loads the data that knowledge and uploads exchange, and nothing that works on it",
  async (specifier) => {
    const loaded = await loadedBy(specifier)
    expect(loaded).toContain("knowledge/src/schemas.ts")
    expect(loaded.filter(isAtWork)).toEqual([])
  },
)

it.each(["@detent/server", "@detent/server/serve", "@detent/workspace", "@detent/workspace/operations/instances"])(
  "importing %s loads nothing of knowledge and uploads",
  async (specifier) => {
    expect(await loadedBy(specifier)).toEqual([])
  },
)
