import { mkdir, readdir, readFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { blobIn, GcsStorage, S3Storage, StorageFolder, type StorageService } from "@detent/blobs"
import { startFakeGcs, startFakeS3 } from "@detent/blobs/testing/cloud"
import { ManifestJson } from "@detent/knowledge"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detent, detentProcess, type Settings, start, temporaryFolder } from "../support/Detent.ts"
import { copyFewDocuments } from "../support/Project.ts"

const bucket = "detent-test"

const keys = { accessKeyId: "AKIDTEST", secretAccessKey: "secret" }

type Scheme = "gs" | "s3"

const decodeFolder = Schema.decodeUnknownSync(StorageFolder)

/** A fake store for the test's time: where it is, and what its processes need to reach it. */
const stores = {
  gs: Effect.acquireRelease(
    Effect.promise(async () => {
      const fake = await startFakeGcs({ buckets: [bucket], anonymous: true })
      return { fake, env: { STORAGE_EMULATOR_HOST: fake.url } }
    }),
    ({ fake }) => Effect.promise(() => fake.close()),
  ),
  s3: Effect.acquireRelease(
    Effect.promise(async () => {
      const fake = await startFakeS3({ buckets: [bucket], ...keys })
      const env = {
        AWS_ENDPOINT_URL_S3: fake.url,
        AWS_ACCESS_KEY_ID: keys.accessKeyId,
        AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
        AWS_REGION: "us-east-1",
      }
      return { fake, env }
    }),
    ({ fake }) => Effect.promise(() => fake.close()),
  ),
}

const storageOf = (scheme: Scheme, endpoint: string): Effect.Effect<StorageService> => {
  const root = decodeFolder(`${scheme}://${bucket}/`)
  return scheme === "gs"
    ? GcsStorage.make({ root, endpoint, credentials: { token: Effect.succeed(Redacted.make("none")), forget: Effect.void } })
    : S3Storage.make({ root, endpoint, keys: { accessKeyId: keys.accessKeyId, secretAccessKey: Redacted.make(keys.secretAccessKey) } })
}

/** A few documents of the corpus, as a user has put them there with another program. */
const putCorpus = (scheme: Scheme, endpoint: string, isWanted: (name: string) => boolean = () => true) =>
  Effect.gen(function* () {
    const storage = yield* storageOf(scheme, endpoint)
    const corpus = yield* Effect.promise(temporaryFolder)
    yield* Effect.promise(() => copyFewDocuments(corpus))
    const entries = yield* Effect.promise(() => readdir(corpus, { recursive: true, withFileTypes: true }))
    yield* Effect.forEach(
      entries.filter((entry) => entry.isFile() && isWanted(entry.name)),
      (entry) =>
        Effect.gen(function* () {
          const file = join(entry.parentPath, entry.name)
          const content = yield* Effect.promise(() => readFile(file))
          yield* storage.set(blobIn(decodeFolder(`${scheme}://${bucket}/corpus/`), relative(corpus, file)), content)
        }),
      { concurrency: 8 },
    )
  })

/** A machine of its own: it shares no folder with another one. */
const machine = async (env: Readonly<Record<string, string>>): Promise<Settings> => {
  const cwd = await temporaryFolder()
  await mkdir(join(cwd, "work"))
  return { cwd: join(cwd, "work"), env: { ...env, HOME: cwd, XDG_STATE_HOME: join(cwd, "state") } }
}

describe("two machines that share a database and a bucket", () => {
  for (const scheme of ["gs", "s3"] as const)
    it.live(`finish each other's batches and uploads after kill -9 (${scheme}://)`, () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const { fake, env } = yield* stores[scheme]
        yield* putCorpus(scheme, fake.url)
        yield* Effect.promise(async () => {
          const [one, other] = [await machine(env), await machine(env)]
          const place = ["--data", `${scheme}://${bucket}/data`, "--database", url]

          const batch = start(["batch", "run", `${scheme}://${bucket}/corpus`, "--json", ...place], one)
          await batch.until('"Extracting"')
          assert.strictEqual((await batch.stop("SIGKILL")).signal, "SIGKILL")
          await writeItemFile(join(one.cwd ?? "", "items.jsonl"), { items: 4000, seed: 3, layout: "lines" })
          const upload = start(["upload", "run", "items.jsonl", "--json", ...place], one)
          await upload.until('"extract')
          assert.strictEqual((await upload.stop("SIGKILL")).signal, "SIGKILL")

          const worked = await detentProcess(["worker", "--until-idle", ...place], other)
          assert.strictEqual(worked.code, 0, worked.err)
          const batches = await detent(["batch", "list", "--json", ...place], other)
          assert.match(batches.out, /"state":"(Completed|PartiallyCompleted)"/, batches.out)
          const uploads = await detent(["upload", "list", "--json", ...place], other)
          assert.match(uploads.out, /"state":"completed"/, uploads.out)
          const stats = await detent(["graph", "stats", "--json", ...place], other)
          assert.strictEqual(stats.code, 0, stats.err)
          // Neither machine keeps anything of the work for itself.
          for (const { cwd } of [one, other]) {
            const left = await readdir(join(cwd ?? "", ".."), { recursive: true, withFileTypes: true })
            const names = left.filter((entry) => entry.isFile()).map(({ name }) => name)
            assert.deepStrictEqual(
              names.filter((name) => !/^(name|\d+\.lock.*|items\.jsonl)$/.test(name)),
              [],
            )
          }
        })
      }).pipe(Effect.scoped),
    )

  it.live("run the activities of a batch, each on the machine that gets it", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { fake, env } = yield* stores.gs
      yield* putCorpus("gs", fake.url, (name) => ["ontology.ttl", "examples.jsonl", "ada-sol.txt"].includes(name))
      yield* Effect.promise(async () => {
        const place = ["--data", `gs://${bucket}/data`, "--database", url]
        const here = await machine(env)
        const source = `gs://${bucket}/corpus`
        const options = ["--ontology", `${source}/ontology.ttl`, "--examples", `${source}/examples.jsonl`, "--namespace", "coast"]
        const started = await detent(
          ["batch", "run", `${source}/documents`, ...options, ...place, "--dispatch", "activities", "--json"],
          here,
        )
        assert.strictEqual(started.code, 0, started.err)
        const { batchId } = JSON.parse(started.out)
        const manifest = Schema.decodeSync(ManifestJson)(fake.bytesOf(bucket, `data/batches/${batchId}/manifest.json`)?.toString() ?? "")
        // A machine of its own for each: it has nothing but the address of the database and of the bucket.
        const activity = async (name: string, input: object) => {
          const given = { ACTIVITY_NAME: name, ACTIVITY_INPUT: JSON.stringify({ batchId, ...input }) }
          const { code, out, err } = await detentProcess(["activity", ...place], await machine({ ...env, ...given }))
          assert.strictEqual(code, 0, err)
          return JSON.parse(out)
        }
        const documentGraphUris: Array<string> = []
        for (const { documentId, sourceUri } of manifest.documents) {
          const { graphUri } = await activity("extraction", { documentId, sourceUri, ontologyUri: manifest.ontologyUri })
          assert.match(graphUri, /^gs:\/\/detent-test\/data\//)
          documentGraphUris.push(graphUri)
        }
        const { resolvedUri } = await activity("resolution", { documentGraphUris })
        const { validatedUri } = await activity("validation", { resolvedUri })
        await activity("ingestion", { validatedUri, targetNamespace: "coast" })
        const shown = await detent(["batch", "show", batchId, "--json", ...place], here)
        assert.match(shown.out, /"state":"(Completed|PartiallyCompleted)"/, shown.out)
      })
    }).pipe(Effect.scoped),
  )

  it.live("do not touch a batch whose files are elsewhere; one of local documents is finished on the same machine, in any folder", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { env } = yield* stores.gs
      yield* Effect.promise(async () => {
        const [one, other] = [await machine(env), await machine(env)]
        const place = ["--data", `gs://${bucket}/data`, "--database", url]
        await copyFewDocuments(join(one.cwd ?? "", "corpus"))
        const batch = start(["batch", "run", "corpus", "--json", ...place], one)
        await batch.until('"Extracting"')
        await batch.stop("SIGKILL")
        assert.include(batch.err, "only processes on it can continue the batch")

        for (const data of [["--data", `gs://${bucket}/dta`], []]) {
          const mistaken = await detentProcess(["worker", "--until-idle", "--database", url, ...data], other)
          assert.strictEqual(mistaken.code, 2, mistaken.err)
          assert.include(mistaken.err, "give every process of a database the same --data")
        }
        const worked = await detentProcess(["worker", "--until-idle", ...place], other)
        assert.strictEqual(worked.code, 0, worked.err)
        const batches = await detent(["batch", "list", "--json", ...place], other)
        assert.match(batches.out, /"state":"Completed"/, batches.out)
      })
    }),
  )

  it.live("are warned of graphs that are later than the database that was restored, until their pointers are those of the backup", () =>
    Effect.gen(function* () {
      const { fake, env } = yield* stores.gs
      yield* putCorpus("gs", fake.url, (name) => ["ontology.ttl", "ada-sol.txt"].includes(name))
      const storage = yield* storageOf("gs", fake.url)
      const pointer = blobIn(decodeFolder(`gs://${bucket}/data/canonical/coast/`), "current.json")
      const here = yield* Effect.promise(() => machine(env))
      const data = ["--data", `gs://${bucket}/data`]
      const succeeded = (...args: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          const ended = await detent(args, here)
          assert.strictEqual(ended.code, 0, `${args.join(" ")}: ${ended.err}`)
          return ended
        })
      const source = `gs://${bucket}/corpus`
      const batch = (namespace: string) =>
        succeeded(
          ...["batch", "run", `${source}/documents`, "--ontology", `${source}/ontology.ttl`, "--namespace", namespace],
          ...["--json", ...data, "--database", "sqlite:own.db"],
        )
      yield* batch("coast")
      yield* succeeded("data", "backup", "--to", "backup", ...data, "--database", "sqlite:own.db")
      const before = yield* storage.get(pointer)
      const { err: same } = yield* succeeded("data", "restore", "--from", "backup", ...data, "--database", "sqlite:same.db")
      assert.notInclude(same, "later than the backup")

      yield* putCorpus("gs", fake.url, (name) => name === "fleet.csv")
      const added = yield* batch("coast")
      yield* batch("other")
      const [later] = /batch-[a-f0-9]{12}/.exec(added.out) ?? []
      const { err } = yield* succeeded("data", "restore", "--from", "backup", ...data, "--database", "sqlite:later.db")
      assert.include(err, `the graph coast is later than the backup: ${later} was added after`)
      assert.include(err, `gcloud storage ls --all-versions --long ${pointer}`)
      assert.match(err, /the graph other is later than the backup/)

      yield* storage.set(pointer, before.bytes)
      yield* storage.remove(blobIn(decodeFolder(`gs://${bucket}/data/canonical/other/`), "current.json"))
      const { err: back } = yield* succeeded("data", "restore", "--from", "backup", ...data, "--database", "sqlite:back.db")
      assert.notInclude(back, "later than the backup")
    }).pipe(Effect.scoped),
  )

  it.live("are refused without a database, and where the bucket is missing, with the next step", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { env } = yield* stores.gs
      yield* Effect.promise(async () => {
        const here = await machine(env)
        const alone = await detent(["batch", "list", "--data", `gs://${bucket}/data`], here)
        assert.match(alone.err, /a bucket holds no database; give --database postgres/)
        const wrong = await detent(["batch", "list", "--data", "gs://x/../y", "--database", url], here)
        assert.match(wrong.err, /write it as gs:\/\/BUCKET\/PREFIX/)
        const place = ["--data", `gs://${bucket}/data`, "--database", url]
        assert.strictEqual((await detent(["batch", "list", ...place], here)).code, 0)
        assert.strictEqual((await detent(["data", "backup", "--to", "b", ...place], here)).code, 0)
        const moved = ["--data", `gs://${bucket}/other`, "--database", "sqlite:moved.db"]
        const elsewhere = await detent(["data", "restore", "--from", "b", ...moved], here)
        assert.strictEqual(elsewhere.code, 0, elsewhere.err)
        assert.match(
          elsewhere.err,
          /the objects of this backup are in gs:\S+\/data, and a restore copies none: copy those of its time to gs:/,
        )
        const missing = await detent(["batch", "run", "gs://no-such-bucket/docs", "--data", `gs://${bucket}/data`, "--database", url], here)
        assert.match(missing.err, /create the bucket, or correct its name/)
        assert.notStrictEqual(missing.code, 0)
      })
    }).pipe(Effect.scoped),
  )
})
