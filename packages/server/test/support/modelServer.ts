/** A server whose environment names a model provider, and a folder with logs of ships that the model knows how to read. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { key, shipModel, startProvider } from "@detent/knowledge/testing/ProviderServer"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { json, request, type ServedOptions, served, temporaryFolder } from "./served.ts"

const ontology = `
@prefix : <https://example.org/sea#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ship a owl:Class ; rdfs:label "ship" .
:passed a owl:ObjectProperty ; rdfs:label "passed" ; rdfs:domain :Ship ; rdfs:range :Ship .
`

export const modelServer = (options: ServedOptions = {}) =>
  Effect.gen(function* () {
    const provider = yield* startProvider("chat", shipModel)
    const input = yield* temporaryFolder
    yield* Effect.promise(async () => {
      await mkdir(join(input, "logs"))
      await writeFile(join(input, "sea.ttl"), ontology)
      for (const name of ["Adler", "Bussard", "Condor"])
        await writeFile(join(input, `logs/${name}.txt`), `Ship${name} passed ShipZephyr${name} off the coast.`)
    })
    const environment = ConfigProvider.fromUnknown({ OPENAI_API_KEY: key, OPENAI_BASE_URL: provider.url })
    const { url, client } = yield* Effect.provideService(
      served({ readable: [input], ...options }),
      ConfigProvider.ConfigProvider,
      environment,
    )
    const folder = `${pathToFileURL(input)}/`
    const documents = ["Adler", "Bussard", "Condor"].map((name) => ({ source: `logs/${name}.txt` }))
    const body = (config: object, more: object = {}) => ({
      folder,
      manifest: { targetNamespace: "sea", ontology: "sea.ttl", documents, ...more },
      config: { concurrency: 1, ...config },
    })
    const post = (path: string, content: object) =>
      Effect.map(request(`${url}${path}`, json(content)), ({ status, text }) => ({ status, ...JSON.parse(text) }))
    const ended = (batchId: string) =>
      Effect.repeat(client.batches.get({ params: { batchId: batchId as never } }), {
        until: ({ isTerminal }) => isTerminal,
        schedule: Schedule.spaced("50 millis"),
      })
    return { url, client, provider, body, post, ended }
  })
