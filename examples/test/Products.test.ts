import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { uploadProducts, uploadsIn } from "../uploads/Products.ts"

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-example-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

it.effect("items of a custom schema are uploaded, corrected, retried and found", () =>
  Effect.gen(function* () {
    const folder = yield* freshFolder
    const file = join(folder, "products.json")
    const product = { title: "A saw", brand: "Acme", price: 3, addedAt: 1 }
    writeFileSync(
      file,
      JSON.stringify([
        { ...product, sku: "a" },
        { ...product, sku: "b", brand: "Other" },
        { ...product, sku: "c", price: -1 },
      ]),
    )
    const { first, failed, refused, second, steps, found } = yield* Effect.provide(uploadProducts(file), uploadsIn(folder))
    expect(first).toMatchObject({ kind: "Products", state: "partially_completed", items: { stored: 2, failed: 1 } })
    expect(failed.map(({ id, problem }) => [id, problem?.message])).toEqual([["c", "its price is below 0"]])
    expect(refused).toMatchObject({ _tag: "ItemStillInvalid", reason: "rejected" })
    expect(second).toMatchObject({ state: "completed", items: { stored: 3 } })
    expect(steps.map(({ state }) => state)).toEqual(["ingested", "failed", "ingested", "validated", "stored"])
    expect(found.map(({ id }) => id)).toEqual(["c", "a"])
  }),
)
