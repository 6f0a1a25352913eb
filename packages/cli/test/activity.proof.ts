import { cp, mkdir, readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { ManifestJson } from "@detent/knowledge"
import { ExtractionOutput, IngestionOutput, ResolutionOutput, ValidationOutput } from "@detent/knowledge/Activities"
import * as Schema from "effect/Schema"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detent as run, temporaryFolder } from "./support/Detent.ts"
import { corpus } from "./support/Project.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = await temporaryFolder()
  await mkdir(join(cwd, "few"))
  for (const name of ["ada-sol.txt", "books.json"]) await cp(join(corpus, "documents", name), join(cwd, "few", name))
})

/** A collector of telemetry: what it has received, by path. */
const collecting = async () => {
  const received: Record<string, string> = {}
  const server = createServer((request, response) => {
    request.setEncoding("utf8")
    request.on("data", (text: string) => {
      received[request.url ?? ""] = (received[request.url ?? ""] ?? "") + text
    })
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, received, close: () => server.close() }
}

/** Without what names a run and its time. */
const graphOf = async (data: string, namespace: string) =>
  (await readFile(join(cwd, data, `canonical/${namespace}/entities.ttl`), "utf8")).replace(
    /detent:run "[^"]+"|urn:detent:run:[0-9a-f-]+|generatedAtTime "[^"]+"/g,
    "",
  )

describe("detent activity", () => {
  it("does what the stages of a batch do, one job at a time, and comes to the same graph", async () => {
    const setting = ["--ontology", join(corpus, "ontology.ttl"), "--examples", join(corpus, "examples.jsonl"), "--namespace", "few"]
    const whole = await detent("batch", "run", "few", ...setting, "--data", "whole")
    assert.strictEqual(whole.code, 0, whole.err)
    const batchId = /^batch +(\S+)/.exec(whole.out)?.[1] ?? ""

    // The jobs find the manifest where the batch has put it, and nothing else.
    const file = `batches/${batchId}/manifest.json`
    await mkdir(join(cwd, "jobs/batches", batchId), { recursive: true })
    await cp(join(cwd, "whole", file), join(cwd, "jobs", file))
    await cp(join(cwd, "whole/sources.json"), join(cwd, "jobs/sources.json"))
    const { documents, ontologyUri } = Schema.decodeSync(ManifestJson)(await readFile(join(cwd, "jobs", file), "utf8"))

    const documentGraphUris: Array<string> = []
    for (const { documentId, sourceUri } of documents) {
      const input = JSON.stringify({ batchId, documentId, sourceUri, ontologyUri })
      const env = { ACTIVITY_NAME: "extraction", ACTIVITY_INPUT: input }
      const { code, out, err } = await run(["activity", "--data", "jobs"], { cwd, env })
      assert.strictEqual(code, 0, err)
      const [extracted] = decoded(ExtractionOutput, out)
      assert.strictEqual(extracted?.documentId, documentId)
      documentGraphUris.push(extracted?.graphUri ?? "")
    }
    const activity = async <A>(name: string, schema: Schema.Codec<A, unknown>, input: object): Promise<A> => {
      const { code, out, err } = await detent("activity", name, "--data", "jobs", "--input", JSON.stringify({ batchId, ...input }))
      assert.strictEqual(code, 0, err)
      return decoded(schema, out)[0] as A
    }
    const { resolvedUri } = await activity("resolution", ResolutionOutput, { documentGraphUris })
    const { validatedUri, conforms } = await activity("validation", ValidationOutput, { resolvedUri })
    assert.isTrue(conforms)
    const { triplesIngested } = await activity("ingestion", IngestionOutput, { validatedUri, targetNamespace: "few" })
    assert.isAbove(triplesIngested, 10)
    // The same job again adds nothing, and a collector hears of it before the job ends.
    const collector = await collecting()
    const again = JSON.stringify({ batchId, validatedUri, targetNamespace: "few" })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const { code, err } = await run(["activity", "ingestion", "--data", "jobs", "--input", again], { cwd, env })
    assert.strictEqual(code, 0, err)
    assert.include(collector.received["/v1/metrics"], "detent_")
    collector.close()

    assert.strictEqual(await graphOf("jobs", "few"), await graphOf("whole", "few"))
  })

  it("moves a batch that waits for activities to its end, with the batch's configuration", async () => {
    await mkdir(join(cwd, "one"))
    await cp(join(corpus, "documents/ada-sol.txt"), join(cwd, "one/ada-sol.txt"))
    const setting = ["--ontology", join(corpus, "ontology.ttl"), "--examples", join(corpus, "examples.jsonl"), "--namespace", "one"]
    const place = ["--data", "waiting"]
    const started = await detent("batch", "run", "one", ...setting, ...place, "--dispatch", "activities", "--json")
    assert.strictEqual(started.code, 0, started.err)
    const { batchId, state } = JSON.parse(started.out)
    assert.strictEqual(state, "Extracting")
    const stateNow = async () => JSON.parse((await detent("batch", "show", batchId, ...place, "--json")).out)
    const manifest = Schema.decodeSync(ManifestJson)(await readFile(join(cwd, "waiting/batches", batchId, "manifest.json"), "utf8"))
    const { documentId = "", sourceUri = "" } = manifest.documents[0] ?? {}
    const { ontologyUri } = manifest
    const call = (name: string, input: object) => detent("activity", name, ...place, "--input", JSON.stringify({ batchId, ...input }))
    const done = async <A>(name: string, schema: Schema.Codec<A, unknown>, input: object): Promise<A> => {
      const { code, out, err } = await call(name, input)
      assert.strictEqual(code, 0, err)
      return decoded(schema, out)[0] as A
    }

    const early = await call("resolution", { documentGraphUris: [] })
    assert.strictEqual(early.code, 4)
    assert.include(early.err, "is Extracting with 1 documents to extract; run the activity extraction first")
    const stranger = await call("extraction", { documentId: "doc-000000000000", sourceUri, ontologyUri })
    assert.strictEqual(stranger.code, 2)
    assert.include(stranger.err, "has no document doc-000000000000")
    const elsewhere = await call("extraction", { documentId, sourceUri: ontologyUri, ontologyUri })
    assert.strictEqual(elsewhere.code, 2)
    assert.strictEqual((await stateNow()).state, "Extracting")

    const { graphUri } = await done("extraction", ExtractionOutput, { documentId, sourceUri, ontologyUri })
    const extracted = await stateNow()
    assert.strictEqual(extracted.state, "Resolving")
    assert.deepInclude(extracted.documents, { total: 1, completed: 1, failed: 0 })
    assert.isAbove(extracted.relations, 0)
    const { resolvedUri } = await done("resolution", ResolutionOutput, { documentGraphUris: [graphUri] })
    const { validatedUri } = await done("validation", ValidationOutput, { resolvedUri })
    assert.strictEqual((await call("ingestion", { validatedUri, targetNamespace: "other" })).code, 2)
    await done("ingestion", IngestionOutput, { validatedUri, targetNamespace: "one" })
    const end = await stateNow()
    assert.deepInclude(end, { state: "Completed", isTerminal: true })
    assert.isAbove(end.outcome.triplesIngested, 0)

    // The same document in a batch that one process works on gives the same graph.
    assert.strictEqual((await detent("batch", "run", "one", ...setting, "--data", "alone")).code, 0)
    assert.strictEqual(await graphOf("waiting", "one"), await graphOf("alone", "one"))
  })

  it("refuses an input that does not fit, an activity it does not know, and a batch that is not there", async () => {
    const [wrong, unknown, none, absent] = [
      await detent("activity", "ingestion", "--input", '{"batchId":"seven"}'),
      await run(["activity"], { cwd, env: { ACTIVITY_NAME: "cooking", ACTIVITY_INPUT: "{}" } }),
      await detent("activity", "resolution"),
      await detent("activity", "resolution", "--input", '{"batchId":"batch-000000000000","documentGraphUris":[]}'),
    ]
    assert.strictEqual(wrong.code, 2)
    assert.include(wrong.err, "batchId")
    assert.strictEqual(unknown.code, 2)
    assert.include(none.err, "ACTIVITY_INPUT")
    assert.strictEqual(absent.code, 3)
    assert.include(absent.err, "there is no batch batch-000000000000; list the batches")
  })
})
