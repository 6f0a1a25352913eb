/** What a person does with a table: looks at its columns and fields, mends a mapping, and only then uploads it. */
import { defineUpload } from "@detent/uploads"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { served } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({
    sku: Schema.String,
    price: Schema.Finite,
    state: Schema.Literals(["new", "used"]),
    country: Schema.optionalKey(Schema.String),
  }),
  id: "sku",
})

const csv = 'Nr;Preis;Condition\n1;"1.012,50 EUR";new\n2;viel;new\n3;"7,00 EUR";gebraucht\n'

describe("a chosen table in the console", unless(noBrowser), () => {
  const openTab = useBrowser()

  it.live("shows what would fail before anything is stored, is mapped by hand, uploaded, and its mapping is kept", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served({ uploads: { uploads: [Products] } })
      const tab = yield* openTab(`${url}/uploads`)
      yield* tab.shows("Choose a file")
      const file = { name: "products.csv", mimeType: "text/csv", buffer: Buffer.from(csv) }
      yield* tab.run((page) => page.getByLabel("File", { exact: true }).setInputFiles(file))
      yield* tab.shows("Proposed by the names and values of the columns.")
      yield* tab.shows("2 of the first 3 rows would fail.")
      yield* tab.shows('price (column Preis): "viel" is no amount in de-DE')
      assert.strictEqual(yield* tab.run((page) => page.getByLabel("Column of price").inputValue()), "Preis")
      assert.strictEqual(yield* tab.run((page) => page.getByLabel("How price is read").inputValue()), "amount")
      yield* tab.run((page) => page.getByLabel("Column of state").selectOption("Condition"))
      yield* tab.run((page) => page.getByLabel("How state is read").selectOption("lookup"))
      yield* tab.run((page) => page.getByLabel("Lookup of state").fill("new = new\ngebraucht"))
      yield* tab.shows("Line 2 without =, not used.")
      yield* tab.run((page) => page.getByLabel("Lookup of state").fill("new = new\ngebraucht = used"))
      yield* tab.shows("1 of the first 3 rows would fail.")
      yield* tab.run((page) => page.getByLabel("Column of country").selectOption({ label: "the same for all rows…" }))
      yield* tab.run((page) => page.getByLabel("Value of country").fill("DE"))
      yield* tab.until(`[...document.querySelectorAll("dialog td")].some((cell) => cell.innerText === "DE")`)
      assert.deepStrictEqual((yield* client.uploads.list({ query: {} })).uploads, [])
      yield* tab.run((page) => page.getByLabel("Keep this mapping for Products").check())
      yield* tab.run((page) => page.getByRole("button", { name: "Upload", exact: true }).click())
      yield* tab.until(`/2\\s+stored/.test(document.body.innerText) && /1\\s+failed/.test(document.body.innerText)`)
      const found = yield* client.uploads.itemOfKind({ params: { kind: "Products", id: "3" } })
      assert.deepStrictEqual(found.item, { sku: "3", price: 7, state: "used", country: "DE" })
      const { mapping } = yield* client.uploads.mapping({ params: { kind: "Products" } })
      assert.deepInclude(mapping?.fields ?? [], { field: "country", value: "DE" })
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("fits the window with many columns, and shows its actions; a file uploaded before is opened, or uploaded again", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served({ uploads: { uploads: [Products] } })
      const tab = yield* openTab(`${url}/uploads`, { width: 1440 })
      yield* tab.shows("Choose a file")
      const more = Array.from({ length: 11 }, (_, at) => `A rather long name of column ${at}`)
      const rows = ["1", "2"].map((nr) => [nr, "7.5", "new", ...more.map((name) => `the content of ${name}`)].join(";"))
      const content = [["sku", "price", "state", ...more].join(";"), ...rows].join("\n")
      const choose = () =>
        tab.run((page) =>
          page.getByLabel("File", { exact: true }).setInputFiles({ name: "wide.csv", mimeType: "text/csv", buffer: Buffer.from(content) }),
        )
      const button = (name: string) => tab.run((page) => page.getByRole("button", { name, exact: true }).click())
      yield* choose()
      yield* tab.shows("All of the first 2 rows can be stored.")
      yield* button("file")
      yield* tab.shows("the content of A rather long name of column 10")
      for (const width of [1440, 390]) {
        yield* tab.resize(width)
        yield* tab.until(`[...document.querySelectorAll("dialog *")].every((one) =>
          one.scrollWidth <= one.clientWidth || !["auto", "scroll"].includes(getComputedStyle(one).overflowX) || one.ariaLabel === "First rows")`)
        yield* tab.until(`["Cancel", "Only count", "Upload"].every((name) => {
          const one = [...document.querySelectorAll("dialog button")].find((found) => found.innerText === name)
          const { left, right, top, bottom } = one.getBoundingClientRect()
          return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight && document.elementFromPoint(left + 3, top + 3) !== null
        })`)
      }
      yield* button("Upload")
      yield* tab.until(`/2\\s+stored/.test(document.body.innerText)`)
      yield* tab.visit("/uploads")
      yield* choose()
      yield* tab.shows("All of the first 2 rows can be stored.")
      yield* button("Upload")
      yield* tab.until(`document.querySelector("dialog")?.innerText.includes("wide.csv was uploaded before") === true`)
      const [first] = (yield* client.uploads.list({ query: {} })).uploads
      const href = yield* tab.run((page) => page.getByRole("link", { name: "Open that upload" }).getAttribute("href"))
      assert.strictEqual(href, `/uploads/${first?.batchId}`)
      yield* button("Upload it again")
      yield* tab.until(`location.pathname.startsWith("/uploads/") && location.pathname !== ${JSON.stringify(href)}`)
      assert.strictEqual((yield* client.uploads.list({ query: {} })).uploads.length, 2)
    }),
  )

  it.live("cannot be uploaded without a column for a field that every row needs", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ uploads: { uploads: [Products] } })
      const tab = yield* openTab(`${url}/uploads`)
      yield* tab.shows("Choose a file")
      const file = { name: "other.csv", mimeType: "text/csv", buffer: Buffer.from("xyz;Preis\n1;2,5\n2;3,5\n") }
      yield* tab.run((page) => page.getByLabel("File", { exact: true }).setInputFiles(file))
      yield* tab.shows("2 of the first 2 rows would fail.")
      const upload = () => tab.run((page) => page.getByRole("button", { name: "Upload", exact: true }).isDisabled())
      assert.isTrue(yield* upload())
      yield* tab.run((page) => page.getByLabel("Column of sku").selectOption("xyz"))
      yield* tab.run((page) => page.getByLabel("Column of price").selectOption("Preis"))
      yield* tab.run((page) => page.getByLabel("How price is read").selectOption("number"))
      yield* tab.run((page) => page.getByLabel("Column of state").selectOption({ label: "the same for all rows…" }))
      yield* tab.run((page) => page.getByLabel("Value of state").fill("new"))
      // The locale takes effect while it is typed.
      yield* tab.run((page) => page.getByLabel("Locale of numbers and dates").fill("de-DE"))
      yield* tab.shows("All of the first 2 rows can be stored.")
      yield* tab.until(`[...document.querySelectorAll("dialog td")].some((cell) => cell.innerText === "2.5")`)
      assert.isFalse(yield* upload())
    }),
  )

  it.live("whose mapping is kept is read by it; a file that cannot be read says why, and is not uploaded", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served({ uploads: { uploads: [Products] } })
      const fields = [
        { field: "sku", column: "Nr" },
        { field: "price", column: "Preis", as: "amount" as const },
        { field: "state", value: "new" },
      ]
      yield* client.uploads.keepMapping({ params: { kind: "Products" }, payload: { locale: "de-DE", fields } })
      const tab = yield* openTab(`${url}/uploads`)
      yield* tab.shows("Choose a file")
      const choose = (name: string, content: string) =>
        tab.run((page) =>
          page.getByLabel("File", { exact: true }).setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(content) }),
        )
      yield* choose("products.csv", csv)
      yield* tab.shows("Kept for this kind.")
      yield* tab.shows("1 of the first 3 rows would fail.")
      yield* tab.run((page) => page.getByRole("button", { name: "Cancel", exact: true }).click())
      yield* choose("twice.csv", "Nr,Nr\n1,2\n")
      yield* tab.shows("its header has Nr twice, in columns 1 and 2")
      assert.isTrue(yield* tab.run((page) => page.getByRole("button", { name: "Upload", exact: true }).isDisabled()))
      assert.deepStrictEqual((yield* client.uploads.list({ query: {} })).uploads, [])
    }),
  )
})
