import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { runEvaluation } from "../../evaluation/Command.ts"
import { builtIn } from "../../evaluation/Contestants.ts"
import type { Contestant } from "../../evaluation/Evaluation.ts"
import { notationOf } from "../../evaluation/Notation.ts"
import { type Scored, scoresOf } from "../../evaluation/Score.ts"
import { ruleGroups } from "../../src/extract/builtin/Prediction.ts"
import { ExtractionFailed, Extractor } from "../../src/extract/Extractor.ts"
import type { Fact } from "../../src/fact/Fact.ts"
import { iri, turtle } from "../ontology/library.ts"

const triple = (sub: string, rel: string, obj: string) => ({ sub, rel, obj })
const foundTriple = (sub: string, rel: string, obj: string, confidence = 1, conforms = true) => ({ sub, rel, obj, confidence, conforms })

describe("scores", () => {
  const scored: ReadonlyArray<Scored> = [
    {
      text: "Emma was written by Jane Austen and published by Murray.",
      expected: [triple("Emma", "author", "Jane Austen"), triple("Emma", "author", "Jane  Austen"), triple("Emma", "publisher", "Murray")],
      found: [
        foundTriple("emma", "author", "jane_austen", 0.9),
        foundTriple("Emma", "publisher", "Austen", 0.4),
        foundTriple("Emma", "pages", "3", 0.3),
      ],
    },
    { text: "Nothing.", expected: [triple("Dune", "author", "Frank Herbert")], found: [] },
  ]

  it("count strictly over all facts, each once, without regard to case, spaces and underscores", () => {
    const { strict, expected, found } = scoresOf(scored, 0.5)
    assert.deepStrictEqual([expected, found], [3, 3])
    assert.deepStrictEqual(strict, { precision: 1 / 3, recall: 1 / 3, f1: 1 / 3 })
  })

  it("count in the paper's way text by text, without relations that are not expected there", () => {
    // Of the first text one of two found and one of two expected facts are right, of the second none.
    assert.deepStrictEqual(scoresOf(scored, 0.5).paper, { precision: 0.25, recall: 0.25, f1: 0.25 })
  })

  it("count only what is sure for high precision", () => {
    const { highPrecision } = scoresOf(scored, 0.5)
    assert.strictEqual(highPrecision.precision, 1)
    assert.strictEqual(highPrecision.recall, 1 / 3)
  })

  it("tell facts against the ontology and subjects out of thin air", () => {
    const odd = [
      { text: "A text.", expected: [], found: [foundTriple("a text", "author", "x", 1, false), foundTriple("Emma", "author", "x")] },
    ]
    const { conformance, subjectHallucination } = scoresOf(odd, 0.5)
    assert.deepStrictEqual([conformance, subjectHallucination], [0.5, 0.5])
    const none = scoresOf([{ text: "", expected: [], found: [] }], 0.5)
    assert.deepStrictEqual([none.conformance, none.subjectHallucination, none.strict.f1], [1, 0, 0])
  })
})

describe("dates are written as in the examples", () => {
  const value = (text: string, lexical: string, type: string) =>
    ({ _tag: "Value", text, lexical, datatype: `http://www.w3.org/2001/XMLSchema#${type}`, span: { start: 0, end: 1 } }) as const
  const day = value("May 2, 1984", "1984-05-02", "date")
  const year = value("1984", "1984", "gYear")
  const written = (...objects: ReadonlyArray<string>) => {
    const notation = notationOf([{ sent: "", triples: objects.map((obj) => triple("a", "b", obj)) }])
    return [notation(day), notation(year), notation(value("12 pages", "12", "integer"))]
  }
  it("with the day first, years filled up", () =>
    assert.deepStrictEqual(written("07 March 2001", "x"), ["02 May 1984", "01 January 1984", "12 pages"]))
  it("without zeros", () => assert.deepStrictEqual(written("7 March 2001", "1999"), ["2 May 1984", "1984", "12 pages"]))
  it("with the year first", () => assert.deepStrictEqual(written("2001-03-07", "1999"), ["1984-05-02", "1984", "12 pages"]))
  it("as in the text when there are none", () => assert.deepStrictEqual(written("x"), ["May 2, 1984", "1984", "12 pages"]))
})

const line = (value: unknown) => `${JSON.stringify(value)}\n`

/** A folder of its own, gone afterwards. */
const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-eval-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

const write = (path: string, files: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(join(path, name, ".."), { recursive: true })
      await writeFile(join(path, name), content)
    }
  })

const example = (sub: string, obj: string) => ({ sent: `${sub} is a novel written by ${obj}.`, triples: [triple(sub, "author", obj)] })

const library = {
  "library/ontology.ttl": turtle,
  "library/train.jsonl": ["Emma/Jane Austen", "Dune/Frank Herbert", "Kim/Rudyard Kipling", "Ulysses/James Joyce"]
    .map((pair) => pair.split("/"))
    .map(([sub = "", obj = ""]) => line(example(sub, obj)))
    .join(""),
  "library/test.jsonl": line({ id: "1", ...example("Middlemarch", "George Eliot") }) + line(example("Villette", "Charlotte Brontë")),
}

const corpus = {
  "ontology.ttl": turtle,
  "documents/emma.txt": "Emma\n\nEmma is a novel. It was written by Jane Austen.",
  "expected.jsonl": line({ document: "emma.txt", ...triple("Emma", "author", "Jane Austen") }),
}

describe("npm run eval", () => {
  it.live("scores the built-in extractor on the corpus and on a folder", () =>
    Effect.gen(function* () {
      const [data, own] = [yield* folder, yield* folder]
      yield* write(data, library)
      yield* write(own, corpus)
      const options = { corpus: own, contestants: [builtIn] }
      const { out, problem, exitCode } = yield* runEvaluation(["--data", data, "--json"], options)
      assert.deepStrictEqual([problem, exitCode], [undefined, 0])
      const result = JSON.parse(out)
      assert.strictEqual(result.extractor, "built-in")
      assert.strictEqual(result.strict.recall, 1)
      assert.strictEqual(result.conformance, 1)
      assert.strictEqual(result.subjectHallucination, 0)
      for (const key of ["precision", "recall", "f1"]) assert.isNumber(result.paper[key])
      assert.isNumber(result.highPrecision.precision)
      assert.strictEqual(result.ontologies.library.texts, 2)
      assert.strictEqual(result.corpus.strict.recall, 1)
      assert.deepStrictEqual(
        result.curve.map(({ examples }: { readonly examples: number }) => examples),
        [0, 5, 20, 40],
      )
      assert.strictEqual(result.curve[3].strict.recall, 1)
      const shown = yield* runEvaluation(["--data", data], options)
      assert.match(shown.out, /built-in, shipped corpus\n.*\ncorpus .*\n\nbuilt-in, given folder\n.*\nlibrary +2 +2 /)
      assert.match(
        shown.out,
        /\n\nbuilt-in, given folder, by number of examples\n.*\n0 examples .*\n5 examples .*\n20 examples .*\n40 examples /,
      )
    }),
  )

  it.live("shows with --ablation what each group of rules adds, taught and untaught", () =>
    Effect.gen(function* () {
      const [data, own] = [yield* folder, yield* folder]
      yield* write(data, library)
      yield* write(own, corpus)
      const options = { corpus: own, contestants: [builtIn] }
      const { ablation } = JSON.parse((yield* runEvaluation(["--data", data, "--ablation", "--json"], options)).out)
      const named = new Map(ablation.map((one: { readonly name: string }) => [one.name, one])) as ReadonlyMap<
        string,
        { readonly taught: { readonly strict: { readonly recall: number } } }
      >
      assert.deepStrictEqual([...named.keys()], ["built-in", ...ruleGroups.map((group) => `without ${group}`)])
      assert.strictEqual(named.get("built-in")?.taught.strict.recall, 1)
      // What examples teach is all that there is without sentences of a plain form.
      assert.isBelow(named.get("without likeness to examples")?.taught.strict.recall ?? 1, 1)
      const { out } = yield* runEvaluation(["--data", data, "--ablation"], options)
      assert.match(out, /\n\nbuilt-in, given folder, without groups of rules\n.*\nbuilt-in .*\nwithout plain sentences .*\n/)
    }),
  )

  it.live("counts only facts above the threshold", () =>
    Effect.gen(function* () {
      const own = yield* folder
      yield* write(own, corpus)
      const options = { corpus: own, contestants: [builtIn] }
      const all = JSON.parse((yield* runEvaluation(["--json"], options)).out)
      const none = JSON.parse((yield* runEvaluation(["--json", "--threshold", "1"], options)).out)
      assert.isAbove(all.found, 0)
      assert.strictEqual(none.found, 0)
    }),
  )

  it.live("scores any extractor that is given as a layer", () =>
    Effect.gen(function* () {
      const own = yield* folder
      yield* write(own, corpus)
      const text = "Emma\n\nEmma is a novel. It was written by Jane Austen."
      const mention = (words: string, type: string) => {
        const start = text.lastIndexOf(words)
        return { type: iri(type), text: words, span: { start, end: start + words.length }, confidence: 1 }
      }
      const fact: Fact = {
        subject: mention("Emma", "Novel"),
        property: iri("author"),
        object: { _tag: "Entity", mention: mention("Jane Austen", "Publisher") },
        quote: "",
        span: { start: 0, end: 0 },
        confidence: 0.7,
      }
      const usage = { calls: 1, inputTokens: 1, outputTokens: 1, cost: undefined }
      const stub: Contestant = {
        name: "stub",
        concurrency: 2,
        layer: () =>
          Layer.succeed(Extractor, {
            name: "stub",
            entities: () => Effect.succeed({ mentions: [], usage }),
            facts: () => Effect.succeed({ facts: [fact], usage }),
          }),
      }
      const result = JSON.parse((yield* runEvaluation(["--json"], { corpus: own, contestants: [stub] })).out)
      assert.deepStrictEqual([result.extractor, result.strict.f1, result.highPrecision.precision], ["stub", 1, 1])
      assert.strictEqual(result.conformance, 0, "a publisher is not an author")
      const broken: Contestant = {
        ...stub,
        layer: () =>
          Layer.succeed(Extractor, {
            name: "stub",
            entities: () =>
              Effect.fail(new ExtractionFailed({ extractor: "stub", reason: "Unavailable", retryable: true, detail: "nobody is there" })),
            facts: () => Effect.succeed({ facts: [], usage }),
          }),
      }
      const failed = yield* runEvaluation([], { corpus: own, contestants: [broken] })
      assert.deepStrictEqual([failed.problem, failed.exitCode], ["stub could not answer (Unavailable): nobody is there", 1])
    }),
  )

  it.live("says what is wrong with a folder", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const problem = (files: Readonly<Record<string, string>>, name: string) =>
        Effect.gen(function* () {
          const data = join(path, name)
          yield* write(data, files)
          const { problem, exitCode } = yield* runEvaluation(["--data", data], { corpus: join(path, "none"), contestants: [] })
          assert.strictEqual(exitCode, 1)
          return problem ?? ""
        })
      assert.match(yield* problem({ "a.txt": "" }, "empty"), /empty: no ontology in it; give a folder whose subfolders/)
      assert.match(yield* problem({ "x/test.jsonl": "" }, "bare"), /it has no ontology; add one of ontology\.ttl/)
      assert.match(yield* problem({ "x/ontology.ttl": "oops", "x/test.jsonl": "" }, "broken"), /ontology\.ttl, line 1: no valid Turtle/)
      assert.match(
        yield* problem({ "x/ontology.ttl": turtle, "x/test.jsonl": `${line(example("a", "b"))}{"sent": 1}\n` }, "line"),
        /test\.jsonl: line 2 is not what it should be/,
      )
      const missing = yield* runEvaluation(["--data", join(path, "nowhere")], { corpus: join(path, "none") })
      assert.match(missing.problem ?? "", /nowhere: it does not exist; check the path/)
    }),
  )

  it.live("leaves the corpus out, with a word, when it is not there", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const { problem, exitCode } = yield* runEvaluation([], { corpus: join(path, "none"), contestants: [builtIn] })
      assert.match(problem ?? "", /The corpus is not at .*none, so it is left out\./)
      assert.strictEqual(exitCode, 0)
    }),
  )

  it.live("refuses a document that is expected but not there", () =>
    Effect.gen(function* () {
      const own = yield* folder
      yield* write(own, { ...corpus, "expected.jsonl": line({ document: "gone.txt", ...triple("a", "author", "b") }) })
      const { problem } = yield* runEvaluation([], { corpus: own, contestants: [builtIn] })
      assert.match(problem ?? "", /expects facts of gone\.txt, which is not in documents/)
    }),
  )

  it.effect("explains itself, and what it does not understand", () =>
    Effect.gen(function* () {
      assert.match((yield* runEvaluation(["--help"])).out, /npm run eval -- \[--data DIR\] \[--threshold T\] \[--ablation\] \[--json\]/)
      for (const args of [["--threshold", "2"], ["--threshold", ""], ["--threshold", "many"], ["--what"], ["--data", ""]]) {
        const { problem, exitCode } = yield* runEvaluation(args)
        assert.match(problem ?? "", /npm run eval -- --help tells more\.$/)
        assert.strictEqual(exitCode, 2)
      }
    }),
  )
})
