import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { decodeConfig, loadConfig } from "@detent/workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8")

const configurations = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".config.ts"))

describe("the README", () => {
  it("has no snippet that is not a checked file", () => {
    const all = [...readme.matchAll(/```ts\n/g)].length
    const named = [...readme.matchAll(/<!-- packages\/workspace\/test\/readme\/\S+\.ts -->\n```ts\n/g)].length
    assert.strictEqual(named, all)
    for (const name of configurations) assert.include(readme, `<!-- packages/workspace/test/readme/${name} -->`)
  })

  it("has an example of every setting", () => {
    const settings = [...readme.slice(readme.indexOf("| setting     | type")).matchAll(/^\| `(\w+)`/gm)].slice(0, 9).map(([, name]) => name)
    assert.deepStrictEqual(settings, [
      "machines",
      "workflows",
      "layers",
      "upcasters",
      "knowledge",
      "uploads",
      "retention",
      "limits",
      "cluster",
    ])
    for (const name of settings) assert.include(configurations, `${name}.config.ts`)
  })

  it.live.each(configurations)("%s is a configuration that is accepted", (name) =>
    Effect.gen(function* () {
      const config = yield* loadConfig(join(import.meta.dirname, name))
      assert.isTrue(Object.keys(config).includes(name.replace(".config.ts", "")))
      yield* decodeConfig(name, config)
    }),
  )
})
