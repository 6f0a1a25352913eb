/** What the page on uploads tells people to do is done here, line by line. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { UploadApi } from "@detent/api"
import { assert, beforeAll, describe, it } from "vitest"
import { parseLine } from "../src/line/parse.mjs"
import { bin, decoded, Running, temporaryFolder } from "./support/Detent.ts"

const root = join(import.meta.dirname, "../../..")
const page = readFileSync(join(root, "docs/uploads.md"), "utf8")
const steps = [...page.matchAll(/<!-- story -->\n```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.trim().split("\n"))

let folder = ""

beforeAll(async () => {
  folder = await temporaryFolder()
})

/** A line of the story as a shell runs it in the clone, but with fewer items, and with what it makes in a folder of its own. */
const begun = (line: string) => {
  const here = line
    .replace("300000", "15000")
    .replace("items.jsonl", join(folder, "items.jsonl"))
    .replace(/^npx node /, `exec '${process.execPath}' `)
    .replace(/^npx detent (.*)$/, `exec '${process.execPath}' '${bin}' $1 --data '${join(folder, "home")}'`)
  return new Running("sh", ["-c", here], { cwd: root })
}

describe("the story of the page on uploads", () => {
  it("works as written: the upload is killed in the middle, resumes, and has every item once", async () => {
    const [make = "", run = "", retry = "", list = "", ...others] = steps
    assert.deepStrictEqual(others, [])
    assert.strictEqual((await begun(make).ended).code, 0)
    const killed = begun(run)
    await killed.until("storing, ")
    assert.strictEqual((await killed.stop("SIGKILL")).signal, "SIGKILL")
    const id = /^(batch-\w+); if it is stopped, resume with: detent upload retry \1/m.exec(killed.err)?.[1] ?? ""
    const cut = decoded(UploadApi.UploadListing, (await begun(`${list} --json`).ended).out)
    assert.isBelow(cut[0]?.stored ?? 0, 15_000)
    const gone = await begun(retry.replace("ID", id)).ended
    assert.strictEqual(gone.code, 0, gone.err)
    assert.include(gone.out, "15000 stored, 0 refused, 0 waiting, 15000 in all")
    const [listed] = decoded(UploadApi.UploadListing, (await begun(`${list} --json`).ended).out)
    assert.deepInclude(listed, { batchId: id, stored: 15_000, failed: 0 })
  })
})

describe("the cheat sheets", () => {
  it.each(["README.md", "packages/cli/README.md"])("of %s have no line that would not be understood", (file) => {
    const text = readFileSync(join(root, file), "utf8")
    const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.trim().split("\n"))
    const lines = blocks.filter((line) => /^(npx )?detent /.test(line)).map((line) => line.replace(/^npx /, "").replace(/\s+# .*$/, ""))
    assert.isAbove(lines.length, 2)
    for (const line of lines) {
      const [, ...words] = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
        ([, single, double, bare]) => single ?? double ?? bare ?? "",
      )
      assert.include(["Run", "Help"], parseLine(words)._tag, line)
    }
  })
})
