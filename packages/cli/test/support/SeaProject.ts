/** A folder of logs, and a server that answers about them as a model does. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { key, type Script, startProvider } from "@detent/knowledge/testing/ProviderServer"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "./Detent.ts"

const ontology = `
@prefix : <https://example.org/sea#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ship a owl:Class ; rdfs:label "ship" .
:passed a owl:ObjectProperty ; rdfs:label "passed" ; rdfs:domain :Ship ; rdfs:range :Ship .
`
const ships = ["Adagio", "Bellona", "Cormoran", "Dunlin", "Eider"]

export const files = Object.fromEntries(ships.map((name) => [`${name}.txt`, `Ship${name} passed Ship${name}bis off the coast.`]))

/** Two for each document. */
export const allCalls = 2 * Object.keys(files).length

export const seaProject = (script: Script, api: "anthropic" | "chat" = "chat") =>
  Effect.gen(function* () {
    const server = yield* startProvider(api, script)
    const cwd = yield* Effect.promise(async () => {
      const folder = await temporaryFolder()
      await mkdir(join(folder, "logs"))
      await writeFile(join(folder, "sea.ttl"), ontology)
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, "logs", name), text)
      return folder
    })
    const env =
      api === "anthropic"
        ? { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: "", OPENAI_BASE_URL: "" }
        : { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url, ANTHROPIC_API_KEY: "" }
    const extractor =
      api === "anthropic" ? ["--extractor", "anthropic:claude-haiku-4-5", "--base-url", server.url] : ["--extractor", "openai:gpt-4o-mini"]
    const line = ["batch", "run", "logs", "--ontology", "sea.ttl", "--namespace", "sea", "--concurrency", "1", ...extractor]
    return { server, cwd, env, line }
  })
