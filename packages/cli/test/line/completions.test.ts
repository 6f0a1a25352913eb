import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { completions } from "../../src/line/completions.mjs"
import { bin, temporaryFolder } from "../support/Detent.ts"

let folder = ""

beforeAll(async () => {
  folder = await temporaryFolder()
  writeFileSync(join(folder, "detent.bash"), execFileSync(process.execPath, [bin, "completions", "bash"]))
  mkdirSync(join(folder, "corpus"))
  writeFileSync(join(folder, "corpus.json"), "")
})

/** What bash offers for the last of these words. */
const offered = (...words: ReadonlyArray<string>): Array<string> => {
  const script = `source ./detent.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _detent 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, status } = spawnSync("bash", ["--norc", "-c", script, "bash", "detent", ...words], { cwd: folder, encoding: "utf8" })
  assert.strictEqual(status, 0)
  return stdout.split("\n").filter((line) => line !== "")
}

describe("completions in a real bash", () => {
  it("of commands, verbs and options, wherever global options stand", () => {
    assert.deepStrictEqual(offered("ba"), ["batch"])
    assert.includeMembers(offered(""), ["dev", "batch", "instance", "mcp"])
    assert.deepStrictEqual(offered("batch", "re"), ["review", "retry", "resume"])
    assert.deepStrictEqual(offered("--data", "there", "upload", "r"), ["run", "retry"])
    assert.deepStrictEqual(offered("graph", "export", "--fo"), ["--format"])
    assert.deepStrictEqual(offered("graph", "export", "--j"), ["--json"])
  })

  it("of what an option or an argument may be", () => {
    assert.deepStrictEqual(offered("batch", "run", "x", "--on-failure", ""), ["continue", "failFast", "retryFailed"])
    assert.deepStrictEqual(offered("batch", "list", "--state", "F"), ["Failed"])
    assert.deepStrictEqual(offered("completions", ""), ["bash", "zsh", "fish"])
    assert.deepStrictEqual(offered("init", "--template", "d"), ["documents"])
  })

  it("of files and folders", () => {
    assert.deepStrictEqual(offered("batch", "run", "corp").sort(), ["corpus", "corpus.json"])
    assert.deepStrictEqual(offered("batch", "list", "--data", "corp"), ["corpus"])
  })

  it("is registered for detent", () => {
    const listed = execFileSync("bash", ["--norc", "-c", "source ./detent.bash; complete -p detent"], { cwd: folder, encoding: "utf8" })
    assert.include(listed, "-F _detent detent")
  })
})

describe("completions of other shells", () => {
  it("are accepted by the shell where it is installed, and name every choice", () => {
    for (const shell of ["zsh", "fish"]) {
      const script = completions(shell)
      assert.include(script, "failFast")
      assert.include(script, "retryFailed")
      const { error, status, stderr } = spawnSync(shell, ["--no-execute"], { input: script, encoding: "utf8" })
      if (error === undefined) assert.strictEqual(status, 0, stderr)
    }
  })
})
