/** The reference of the API in a browser. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { unless } from "../../../store/test/support/skipping.ts"
import { noBrowser, useBrowser } from "../support/browser.ts"
import { served } from "../support/served.ts"

describe("the reference of the API", unless(noBrowser), () => {
  const open = useBrowser()

  it.live("shows every group, and asks no other host for anything", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const tab = yield* open(`${url}/docs`)
      yield* tab.shows("List machines")
      const elsewhere = tab.requests.filter((address) => !address.startsWith(url) && !/^(?:data|blob):/.test(address))
      assert.deepStrictEqual([elsewhere, tab.problems], [[], []])
    }),
  )
})
