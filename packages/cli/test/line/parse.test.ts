import { nearest } from "@detent/machine/Nearest"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { help } from "../../src/line/help.mjs"
import { parseLine } from "../../src/line/parse.mjs"
import { commands } from "../../src/line/table.mjs"

/** Words as a shell splits them, as far as the examples use it. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare ?? "")

const problemOf = (...words: ReadonlyArray<string>): string => {
  const line = parseLine(words)
  assert.strictEqual(line._tag, "Wrong")
  if (line._tag !== "Wrong") return ""
  const near = line.misspelt === undefined ? undefined : nearest(line.misspelt.word, line.misspelt.known)
  return near === undefined ? line.problem : `${line.problem}; did you mean ${near}?`
}

const valuesOf = (...words: ReadonlyArray<string>) => {
  const line = parseLine(words)
  assert.strictEqual(line._tag, "Run", JSON.stringify(line))
  return line._tag === "Run" ? line.values : {}
}

describe("the command line", () => {
  it("understands every example of the help", () => {
    const lines = commands.flatMap(({ examples }) => examples.map(({ line }) => line))
    const plain = lines.map(
      (line) =>
        line
          .replace(/^eval "\$\((.*)\)"$/, "$1")
          .replace(/^\w+=\S+ /, "")
          .split(/ (?:\||&&|<|>) /)[0] ?? "",
    )
    for (const line of plain) {
      const [name, ...words] = wordsOf(line)
      assert.strictEqual(name, "detent", line)
      assert.strictEqual(parseLine(words)._tag, "Run", line)
    }
    assert.isAbove(plain.length, commands.length - 1)
  })

  it("gives options before, between and after, with and without an equals sign, and their defaults", () => {
    const values = valuesOf("--data", "here", "instance", "show", "--at=3", "order-7", "--json")
    assert.include(values, { data: "here", at: 3, instance: "order-7", json: true, yes: false })
    assert.include(valuesOf("batch", "list"), { limit: 100, data: ".detent", state: undefined })
    assert.include(valuesOf("batch", "cancel", "b", "-y"), { yes: true })
  })

  it("takes what comes after -- as it is", () => {
    assert.include(valuesOf("graph", "query", "--json", "--", "--help"), { sparql: "--help", json: true })
  })

  it.each([
    [["bath", "run"], "did you mean batch?"],
    [["batch", "rum"], "did you mean batch run?"],
    [["batch"], "batch needs a command"],
    [["bathc", "list"], "did you mean batch?"],
    [["--json"], "which command?"],
    [["--wrong"], "there is no option --wrong"],
    [["--jsno"], "did you mean --json?"],
    [["batch", "list", "--limit", "0"], "--limit is at least 1"],
    [["batch", "list", "--stat", "Failed"], "did you mean --state?"],
    [["batch", "list", "--state", "Faild"], "did you mean Failed?"],
    [["batch", "list", "--limit", "ten"], "is a whole number"],
    [["batch", "list", "--limit"], "needs a value: --limit N"],
    [["batch", "list", "--json=yes"], "takes no value"],
    [["batch", "show"], "BATCH is missing"],
    [["batch", "show", "one", "two"], "an unexpected argument"],
    [["completions", "tcsh"], "SHELL is one of bash, zsh, fish"],
  ])("says what is wrong with %j", (words, problem) => {
    assert.include(problemOf(...words), problem)
  })

  it("asks for help at any place", () => {
    assert.deepStrictEqual(parseLine([]), { _tag: "Help", topic: [] })
    assert.deepStrictEqual(parseLine(["batch", "--help"]), { _tag: "Help", topic: ["batch"] })
    assert.deepStrictEqual(parseLine(["batch", "run", "x", "-h"]), { _tag: "Help", topic: ["batch", "run"] })
    assert.deepStrictEqual(parseLine(["help", "batch", "run"]), { _tag: "Help", topic: ["batch", "run"] })
  })

  it.prop("never fails, whatever the words", { words: Schema.Array(Schema.String) }, ({ words }) => {
    assert.include(["Run", "Help", "Version", "Wrong"], parseLine(words)._tag)
  })

  it("takes the data folder from DETENT_DATA where no option names it, and ignores an empty one", () => {
    const before = process.env["DETENT_DATA"]
    try {
      process.env["DETENT_DATA"] = "/data"
      assert.include(valuesOf("batch", "list"), { data: "/data" })
      assert.include(valuesOf("batch", "list", "--data", "here"), { data: "here" })
      process.env["DETENT_DATA"] = ""
      assert.include(valuesOf("batch", "list"), { data: ".detent" })
    } finally {
      if (before === undefined) delete process.env["DETENT_DATA"]
      else process.env["DETENT_DATA"] = before
    }
  })

  it.prop("gives back any value that was given to an option", { data: Schema.String, sparql: Schema.String }, ({ data, sparql }) => {
    assert.include(valuesOf(`--data=${data}`, "graph", "query", "--", sparql), { data, sparql })
  })
})

describe("the help", () => {
  it("names every command, every option and every choice, and has an example of each command", () => {
    const everything = help([], (text) => text) ?? ""
    for (const command of commands) {
      const [noun = "", verb] = command.name.split(" ")
      assert.match(everything, verb === undefined ? new RegExp(`^  ${noun} `, "m") : new RegExp(`^  ${noun} .*\\b${verb}\\b`, "m"))
      const text = help(command.name.split(" "), (title) => title) ?? ""
      for (const option of command.options) assert.include(text, `--${option.name}`)
      for (const option of command.options) if ("choices" in option) for (const choice of option.choices) assert.include(text, choice)
      for (const { line } of command.examples) assert.include(text, line)
      assert.isAbove(command.examples.length, 0, command.name)
    }
  })

  it("does not know what is not there", () => {
    assert.isUndefined(help(["nothing"], (text) => text))
  })
})
