import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi } from "@detent/api"
import { type Heard, key, questionIn, type Script, shipModel, type Turn } from "@detent/knowledge/testing/ProviderServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { decoded, detent as run, start } from "./support/Detent.ts"
import { linkPackages } from "./support/Project.ts"
import { allCalls, files, seaProject } from "./support/SeaProject.ts"

const project = (script: Script, api: "anthropic" | "chat" = "chat") =>
  Effect.map(seaProject(script, api), (sea) => ({
    ...sea,
    detent: (...args: ReadonlyArray<string>) => Effect.promise(() => run(args, { cwd: sea.cwd, env: sea.env })),
  }))

const statuses = (out: string) => decoded(BatchApi.BatchStatus, out)

const question = (heard: Heard) => `${questionIn(heard).asks} ${questionIn(heard).text}`

describe("a model from the command line", () => {
  it.live.each(["anthropic", "chat"] as const)("%s: makes the graph, and progress and status show tokens and cost", (api) =>
    Effect.gen(function* () {
      const { server, cwd, line, detent } = yield* project(shipModel, api)
      const { code, out, err } = yield* detent(...line)
      assert.strictEqual(code, 0, err)
      assert.strictEqual(server.heard.length, allCalls)
      assert.match(out, /^extractor +(openai:gpt-4o-mini|anthropic:claude-haiku-4-5)$/m)
      assert.match(out, /^spent +1,200 tokens, 0\.00\d+ USD, in 10 calls$/m)
      assert.match(err, /\d+ facts, [\d,]+ tokens, 0\.0+\d+ USD/)
      const id = /^batch +(\S+)/.exec(out)?.[1] ?? ""
      const [status] = statuses((yield* detent("batch", "show", id, "--json")).out)
      assert.deepInclude(status?.usage, { calls: allCalls, inputTokens: 1000, outputTokens: 200, currency: "USD" })
      // The key is in nothing that was printed or stored.
      assert.notInclude(out + err, key)
      const left = yield* Effect.promise(() => readdir(join(cwd, ".detent"), { recursive: true, withFileTypes: true }))
      for (const file of left.filter((one) => one.isFile()))
        assert.notInclude(yield* Effect.promise(() => readFile(join(file.parentPath, file.name), "latin1")), key, file.name)
    }).pipe(Effect.scoped),
  )

  it.live("that is killed with -9 in mid-batch resumes, and pays for no answer twice", () =>
    Effect.gen(function* () {
      const answered = 5
      let isBack = false
      const script = (heard: Heard, index: number): Turn => (index < answered || isBack ? shipModel(heard) : "hang")
      const { server, cwd, env, line, detent } = yield* project(script)
      const killed = start(line, { cwd, env })
      while (server.heard.length <= answered) yield* Effect.sleep("20 millis")
      // The call in flight was not answered; the answers before it are stored.
      yield* Effect.promise(() => killed.stop("SIGKILL"))
      const paid = server.heard.slice(0, answered).map(question)
      isBack = true
      const again = /detent (batch resume \S+)/.exec(killed.err)?.[1] ?? ""
      const resumed = yield* detent(...again.split(" "), "--json")
      assert.strictEqual(resumed.code, 0, resumed.err)
      const asked = server.heard.slice(answered + 1).map(question)
      assert.deepStrictEqual(
        asked.filter((one) => paid.includes(one)),
        [],
      )
      assert.strictEqual(new Set([...paid, ...asked]).size, allCalls)
      assert.deepInclude(statuses(resumed.out).at(-1)?.usage, { calls: allCalls, inputTokens: 100 * allCalls })
    }).pipe(Effect.scoped),
  )

  it.live("prints what it would take with --estimate, and stops", () =>
    Effect.gen(function* () {
      const { server, line, detent } = yield* project(shipModel)
      const { code, out, err } = yield* detent(...line, "--estimate")
      assert.strictEqual(code, 0, err)
      assert.match(
        out,
        /^extractor +openai:gpt-4o-mini\ndocuments +5\nchunks +5\ncalls +10\ntokens +about [\d,]+ in, [\d,]+ out\ncost +about 0\.\d+ USD\n$/,
      )
      assert.deepInclude(JSON.parse((yield* detent(...line, "--estimate", "--json")).out), { chunks: 5, calls: 10 })
      assert.strictEqual(server.heard.length, 0)
      assert.strictEqual((yield* detent("batch", "list")).out, "")
    }).pipe(Effect.scoped),
  )

  it.live("stops at its budget with the next step, and continues with a larger one", () =>
    Effect.gen(function* () {
      const { server, line, detent } = yield* project(shipModel)
      const stopped = yield* detent(...line, "--budget", "9300tokens")
      assert.strictEqual(stopped.code, 1)
      assert.match(stopped.out, /^failed +while extracting: .*the budget of 9300 tokens is used up/m)
      const id = /^batch +(\S+)/.exec(stopped.out)?.[1] ?? ""
      assert.include(stopped.err, `detent batch resume ${id} --budget AMOUNT`)
      const resumed = yield* detent("batch", "resume", id, "--budget", "1usd")
      assert.strictEqual(resumed.code, 0, resumed.err)
      assert.match(resumed.out, /^budget +1usd$/m)
      assert.strictEqual(server.heard.length, allCalls)
    }).pipe(Effect.scoped),
  )

  it.live("continues with a larger budget once per key, also where a server has started since", () =>
    Effect.gen(function* () {
      const { server, cwd, env, line, detent } = yield* project(shipModel)
      const id = /^batch +(\S+)/.exec((yield* detent(...line, "--budget", "9300tokens")).out)?.[1] ?? ""
      const raise = (budget: string) => detent("batch", "retry", id, "--budget", budget, "--key", "raise")
      const first = yield* raise("1usd")
      assert.strictEqual(first.code, 0, first.err)
      const home = yield* Effect.acquireRelease(
        Effect.sync(() => start(["dev", "--port", "0"], { cwd, env })),
        (dev) => Effect.promise(() => dev.stop("SIGKILL")),
      )
      yield* Effect.promise(() => home.until(/http:\/\/\S+/))
      const again = yield* raise("1usd")
      assert.strictEqual(again.code, 0, again.err)
      assert.strictEqual(server.heard.length, allCalls)
      const other = yield* raise("2usd")
      assert.strictEqual(other.code, 4, other.err)
      assert.include(other.err, "key raise belongs to a request with other content")
    }).pipe(Effect.scoped),
  )

  it.live("answers a question with the words that prove it, and leaves out what nothing proves", () =>
    Effect.gen(function* () {
      const quote = "ShipAdagio passed ShipAdagiobis"
      const clauses = [
        { text: "It passed ShipAdagiobis.", passage: 1, quote },
        { text: "It passed ShipDunlin.", passage: 1, quote },
      ]
      const script = (heard: Heard): Turn => (questionIn(heard).prompt.startsWith("Passage 1") ? { says: { clauses } } : shipModel(heard))
      const { server, line, detent } = yield* project(script)
      const { code, err } = yield* detent(...line)
      assert.strictEqual(code, 0, err)
      const question = "What did ShipAdagio pass?"
      const asked = yield* detent("ask", "sea", question, "--extractor", "openai:gpt-4o-mini", "--key", "once")
      assert.strictEqual(asked.code, 0, asked.err)
      assert.match(
        asked.out,
        /^It passed ShipAdagiobis\.\n +"ShipAdagio passed ShipAdagiobis" file:.*Adagio\.txt\n1 more of openai\/gpt-4o-mini left out/,
      )
      const calls = server.heard.length
      const again = yield* detent("ask", "sea", question, "--extractor", "openai:gpt-4o-mini", "--key", "once")
      assert.strictEqual(again.out, asked.out)
      const [facts, listed, none] = yield* Effect.all([
        detent("ask", "sea", question),
        detent("ask", "sea", question, "--facts", "--json"),
        detent("ask", "sea", "What did ShipNobody pass?"),
      ])
      assert.include(facts.out, `ShipAdagio passed ShipAdagiobis\n  "${quote}"`)
      assert.deepInclude(JSON.parse(listed.out).facts[0], { subjectLabel: "ShipAdagio", objectLabel: "ShipAdagiobis", quote })
      assert.strictEqual(none.out, "no fact of the graph bears on this question\n")
      assert.strictEqual(server.heard.length, calls)
    }).pipe(Effect.scoped),
  )

  it.live("gets the user's instructions and glossary, and reads documents again when they change", () =>
    Effect.gen(function* () {
      const { server, cwd, line, detent } = yield* project(shipModel)
      yield* Effect.promise(() => writeFile(join(cwd, "rules.txt"), "Leave out tugs."))
      yield* Effect.promise(() => writeFile(join(cwd, "words.txt"), "TEU: twenty-foot equivalent unit\n"))
      yield* Effect.promise(() => writeFile(join(cwd, "wrong.txt"), "no meaning\n"))
      const { code, err } = yield* detent(...line, "--instructions", "rules.txt", "--glossary", "words.txt")
      assert.strictEqual(code, 0, err)
      const asked = JSON.stringify(server.heard[0]?.body)
      assert.include(asked, "Leave out tugs.")
      assert.include(asked, "- TEU: twenty-foot equivalent unit")
      assert.include((yield* detent(...line, "--instructions", "rules.txt", "--glossary", "words.txt")).out, "5 unchanged")
      assert.notInclude((yield* detent(...line, "--instructions", "rules.txt")).out, "unchanged")
      const wrong = yield* detent(...line, "--glossary", "wrong.txt")
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.err, "--glossary wrong.txt, line 1 is no word with its meaning; write WORD: MEANING on each line")
    }).pipe(Effect.scoped),
  )

  it.live("that states what the text does not prove is shown with what it said, and the graph is without it", () =>
    Effect.gen(function* () {
      const invented = { subject: 1, property: "passed", object: 1, value: null, normalized: null, quote: "ShipAdagio sank", confidence: 1 }
      const script = (heard: Heard): Turn => {
        const turn = shipModel(heard)
        const { asks, text } = questionIn(heard)
        if (asks !== "facts" || !text.includes("ShipAdagio") || typeof turn !== "object" || !("says" in turn)) return turn
        return { says: { facts: [...(turn.says as { facts: ReadonlyArray<unknown> }).facts, invented, { ...invented, property: "sank" }] } }
      }
      const { line, detent } = yield* project(script)
      const { code, out, err } = yield* detent(...line)
      assert.strictEqual(code, 0, err)
      const reasons = [
        'passed "ShipAdagio sank" (Adagio.txt): the text does not have these words',
        'sank "ShipAdagio sank" (Adagio.txt): the ontology does not have the property',
      ]
      assert.include(out, `2 answers of the model are not in the graph: ${reasons.join(", ")}`)
      const id = /^batch +(\S+)/.exec(out)?.[1] ?? ""
      const [status] = statuses((yield* detent("batch", "show", id, "--json")).out)
      assert.deepInclude(status, { relations: 5 })
      assert.strictEqual(status?.refused?.count, 2)
    }).pipe(Effect.scoped),
  )

  it.live("is refused with a next step where it cannot be used", () =>
    Effect.gen(function* () {
      const { line, cwd, detent } = yield* project(shipModel)
      const [name, amount, address, secret] = yield* Effect.all(
        [
          detent("batch", "run", "logs", "--extractor", "gpt"),
          detent(...line, "--budget", "5"),
          detent(...line, "--base-url", "ftp://nowhere"),
          detent(...line, "--base-url", "http://user:pa55word@127.0.0.1/v1"),
        ],
        { concurrency: 2 },
      )
      for (const { code } of [name, amount, address, secret]) assert.strictEqual(code, 2)
      assert.include(name.err, "name built-in, openai:MODEL, azure:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL or openrouter:MODEL")
      assert.include(amount.err, "like 5usd or 200000tokens")
      assert.include(address.err, "--base-url")
      assert.notInclude(secret.err, "pa55word")
      const keyless = yield* Effect.promise(() =>
        run([...line.slice(0, -2), "--extractor", "anthropic:claude-opus-5"], { cwd, env: { ANTHROPIC_API_KEY: "" } }),
      )
      assert.strictEqual(keyless.code, 2)
      assert.include(keyless.err, "anthropic:claude-opus-5: it needs a key; set ANTHROPIC_API_KEY")
    }).pipe(Effect.scoped),
  )

  it.live("comes from the configuration, below a manifest's and a command's own", () =>
    Effect.gen(function* () {
      const { server, cwd, line, detent } = yield* project(shipModel)
      const plain = line.slice(0, -2)
      const config = (knowledge: string) =>
        Effect.promise(() =>
          writeFile(
            join(cwd, "detent.config.ts"),
            `import { defineConfig } from "@detent/workspace/Config"\nexport default defineConfig({ knowledge: ${knowledge} })\n`,
          ),
        )
      yield* Effect.promise(() => linkPackages(cwd))
      yield* config(`{ extractor: "openai:house", baseUrl: "${server.url}", budget: "900000tokens", limits: { requestsPerMinute: 1000 } }`)
      const run = yield* detent(...plain, "--json")
      assert.strictEqual(run.code, 0, run.err)
      const end = statuses(run.out).at(-1)
      assert.deepInclude(end, { extractor: "openai:house", budget: "900000tokens", state: "Completed" })
      // A model without a known price has no known cost.
      assert.deepInclude(end?.usage, { calls: allCalls })
      assert.isUndefined(end?.usage?.cost)
      const own = yield* detent(...plain, "--extractor", "built-in", "--estimate", "--json")
      assert.deepInclude(JSON.parse(own.out), { extractor: "built-in", calls: 0 })
      const documents = Object.keys(files).map((name) => ({ source: `logs/${name}` }))
      const manifest = { targetNamespace: "sea", ontology: "sea.ttl", extractor: "anthropic:claude-haiku-4-5", documents }
      yield* Effect.promise(() => writeFile(join(cwd, "manifest.json"), JSON.stringify(manifest)))
      const written = yield* detent("batch", "run", "manifest.json", "--estimate", "--json")
      assert.deepInclude(JSON.parse(written.out), { extractor: "anthropic:claude-haiku-4-5", chunks: 5 })
      yield* config(`{ extractor: "gpt", budget: "5" } as never`)
      const refused = yield* detent(...plain)
      assert.strictEqual(refused.code, 2)
      assert.match(refused.err, /knowledge\.(extractor|budget)/)
    }).pipe(Effect.scoped),
  )

  it.live("may be any language model of Effect that the configuration gives as a layer", () =>
    Effect.gen(function* () {
      const { cwd, line, detent } = yield* project(shipModel)
      yield* Effect.promise(() => linkPackages(cwd))
      yield* Effect.promise(() => writeFile(join(cwd, "detent.config.ts"), languageModelConfig))
      const { code, out, err } = yield* detent(...line.slice(0, -2), "--json")
      assert.strictEqual(code, 0, err)
      const end = statuses(out).at(-1)
      assert.deepInclude(end, { extractor: "language-model", state: "Completed" })
      assert.deepInclude(end?.usage, { calls: allCalls, inputTokens: 10 * allCalls, outputTokens: 5 * allCalls })
    }).pipe(Effect.scoped),
  )
})

const languageModelConfig = `
import { shipModel } from "@detent/knowledge/testing/ProviderServer"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"

const textOf = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""))
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } }

const model = LanguageModel.make({
  generateText: ({ prompt }) =>
    Effect.sync(() => {
      const { says } = shipModel({ path: "", headers: {}, body: { input: textOf(prompt.content.at(-1).content) } })
      return [
        { type: "text", text: JSON.stringify(says) },
        { type: "finish", reason: "stop", usage, response: undefined },
      ]
    }),
  streamText: () => Stream.empty,
})

export default defineConfig({ knowledge: { extractor: Layer.effect(LanguageModel.LanguageModel, model) } })
`
