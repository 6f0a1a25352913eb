/** A refused definition must say why in words: the compiler is run on one, and its text read. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, it } from "vitest"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What the compiler says of each line, by line number. */
const messages = new Map<number, string>()
const wrongFields: Array<string> = []
const lines = readFileSync(at("refused/order.ts"), "utf8").split("\n")

const messageFor = (name: string) => messages.get(lines.findIndex((line) => line.startsWith(`export const ${name} `)) + 1)

beforeAll(
  () =>
    new Promise<void>((resolve) => {
      execFile(at("../../../node_modules/.bin/tsc"), ["-p", at("refused/tsconfig.json"), "--pretty", "false"], (_, text) => {
        for (const part of text.split(/^(?=\S)/m)) {
          if (part.includes("field.ts(")) wrongFields.push(part)
          if (!part.includes("order.ts(")) continue
          const line = Number(/\((\d+),\d+\): error/.exec(part)?.[1])
          messages.set(line, (messages.get(line) ?? "") + part)
        }
        resolve()
      })
    }),
)

describe("the compiler's message", () => {
  it.each([
    ["twice", `"already declared (replace it with { override: true }), or final": "Pending × Drop"`],
    ["nothing", `"nothing to override or to fall through to": "Pending × Drop"`],
    ["missing", `"fields neither carried nor given": "tx"`],
    ["undeclared", `Type '{ readonly _tag: "Gone"; }' is missing the following properties from type '{ readonly _tag: "Paid";`],
    ["unanswered", "this event requires an answer: pass a decision that returns reply(...)"],
    ["partial", `"events no state handles": "Ask" | "Pay"`],
    ["ended", `"already declared (replace it with { override: true }), or final": "Gone × (final)"`],
    ["unbuilt", `"guard inStock"`],
  ])("for %s names the reason", (name, reason) => {
    expect(messageFor(name)).toContain(reason)
  })

  it("for one wrong field schema is the only one, at its place", () => {
    expect(wrongFields.map((one) => /\((\d+),/.exec(one)?.[1])).toEqual(["6", "10"])
    expect(wrongFields[0]).toContain("'NumberConstructor' is not assignable")
  })
})
