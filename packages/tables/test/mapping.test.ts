/** Mappings of columns to fields: what cells become, what is refused, and what is proposed. */
import { describe, expect, it } from "@effect/vitest"
import { checkMapping, type FieldRule, type Mapping, makeMapRow, proposeMapping, type TargetField } from "../src/index.ts"

const mapped = (row: object, ...fields: ReadonlyArray<FieldRule>) => makeMapRow({ fields, others: "drop" })(row)

const valueOf = (text: unknown, rule: Omit<FieldRule, "field" | "column">) => {
  const { values, problems } = mapped({ a: text }, { field: "f", column: "a", ...rule })
  return problems[0]?.problem ?? (values as { readonly f?: unknown }).f
}

describe("numbers, amounts and days are read by locale", () => {
  it.each([
    ["1234.5", undefined, 1234.5],
    ["-7", undefined, -7],
    ["1.5e3", undefined, 1500],
    ["1,234.5", undefined, '"1,234.5" is no number such as 1234.5; give the locale that wrote it'],
    ["1,234.50", "en-US", 1234.5],
    ["1.234,50", "de-DE", 1234.5],
    ["1.234.567", "de-DE", 1234567],
    ["12,5", "de-DE", 12.5],
    ["12.5", "de-DE", '"12.5" is no number in de-DE'],
    ["12,34,567", "en-IN", 1234567],
    ["1.23.456", "de-DE", '"1.23.456" is no number in de-DE'],
    ["1'234.50", "de-CH", 1234.5],
    ["1\u202f234,5", "fr-FR", 1234.5],
    ["1 234,5", "fr-FR", 1234.5],
    ["(12,50)", "de-DE", -12.5],
    ["12,50-", "de-DE", -12.5],
    ["\u221212", "sv-SE", -12],
    ["12,50 EUR", "de-DE", '"12,50 EUR" has a currency; read it as an amount'],
    ["abc", "de-DE", '"abc" is no number in de-DE'],
    ["9007199254740993", undefined, "9007199254740993"],
    [12.5, "de-DE", 12.5],
  ] as const)("the number %s in %s", (text, locale, expected) => {
    expect(valueOf(text, { as: "number", ...(locale === undefined ? {} : { locale }) })).toEqual(expected)
  })

  it.each([
    ["12,50 EUR", "de-DE", 12.5, "EUR"],
    ["€ 1.234,50", "de-DE", 1234.5, "EUR"],
    ["$1,234.50", "en-US", 1234.5, "USD"],
    ["-$5", "en-US", -5, "USD"],
    ["CHF 12.-", "de-CH", 12, "CHF"],
    ["12,-- €", "de-DE", 12, "EUR"],
    ["1 299,00 zł", "pl-PL", 1299, "PLN"],
    ["12,50", "de-DE", 12.5, '"12,50" has no currency, such as EUR or $'],
    ["zwölf €", "de-DE", '"zwölf €" is no amount in de-DE', "EUR"],
  ] as const)("the amount %s in %s", (text, locale, amount, currency) => {
    expect([valueOf(text, { as: "amount", locale }), valueOf(text, { as: "currency" })]).toEqual([amount, currency])
  })

  it.each([
    ["2026-01-31", undefined, "2026-01-31"],
    ["2026-02-30", undefined, '"2026-02-30" is no date such as 2026-01-31; give the locale that wrote it'],
    ["31.1.2026", "de-DE", "2026-01-31"],
    ["31.01.26", "de-DE", "2026-01-31"],
    ["31/01/1998", "en-GB", "1998-01-31"],
    ["01/31/2026", "en-US", "2026-01-31"],
    ["31/01/2026", "en-US", '"31/01/2026" is no date in en-US'],
    ["2026/1/31", "en-US", "2026-01-31"],
    ["3. März 2026", "de-DE", "2026-03-03"],
    ["March 3rd, 2026", "en-US", "2026-03-03"],
    ["Di., 3 Mar 2026", "de-DE", "2026-03-03"],
    ["3 févr. 2026", "fr-FR", "2026-02-03"],
    ["31.1.2026 18:00", "de-DE", '"31.1.2026 18:00" has a time of day; read it as a date-time'],
  ] as const)("the day %s in %s", (text, locale, expected) => {
    expect(valueOf(text, { as: "date", ...(locale === undefined ? {} : { locale }) })).toBe(expected)
  })

  it.each([
    ["31.1.2026 18:05", "de-DE", "2026-01-31T18:05:00"],
    ["1/31/2026, 6:05:09 PM", "en-US", "2026-01-31T18:05:09"],
    ["2026-01-31T18:05:09.5Z", undefined, "2026-01-31T18:05:09.5Z"],
    ["31.1.2026", "de-DE", "2026-01-31T00:00:00"],
    ["31.1.2026 25:00", "de-DE", '"31.1.2026 25:00" is no date-time in de-DE'],
  ] as const)("the time %s in %s", (text, locale, expected) => {
    expect(valueOf(text, { as: "date-time", ...(locale === undefined ? {} : { locale }) })).toBe(expected)
  })
})

describe("a row", () => {
  it("is renamed, nested, completed by constants and looked up; other columns keep their names", () => {
    const map = makeMapRow({
      locale: "de-DE",
      fields: [
        { field: "sku", column: "Nr." },
        { field: "price", column: "Preis", as: "amount" },
        { field: "money.currency", column: "Preis", as: "currency" },
        { field: "address.city", column: "Ort" },
        { field: "address.country", value: "DE" },
        { field: "state", column: "Status", lookup: { neu: "new", alt: { age: 9 } }, otherwise: "unknown" },
        { field: "isNew", column: "Neu?", as: "boolean", empty: false },
        { field: "tags", column: "Marken", as: "list" },
        { field: "more", column: "JSON", as: "json" },
      ],
    })
    const row = {
      "Nr.": "007",
      Preis: "12,50 EUR",
      Ort: "Köln",
      Status: "NEU ",
      "Neu?": "",
      Marken: "a; b,,c",
      JSON: '{"x":1}',
      note: "hi",
    }
    expect(map(row)).toEqual({
      values: {
        sku: "007",
        price: 12.5,
        money: { currency: "EUR" },
        address: { city: "Köln", country: "DE" },
        state: "new",
        isNew: false,
        tags: ["a", "b", "c"],
        more: { x: 1 },
        note: "hi",
      },
      problems: [],
    })
    expect(map({ Status: "alt", "Neu?": "ja", sku: "8" }).values).toMatchObject({ state: { age: 9 }, isNew: true, sku: "8" })
    expect(map({ Status: "kaputt" }).values).toMatchObject({ state: "unknown" })
  })

  it("of JSON is read by the paths of its keys, and its values stay what they are", () => {
    const row = { a: { b: { c: 7 } }, list: [1, 2], on: true }
    const fields: ReadonlyArray<FieldRule> = [
      { field: "c", column: "a.b.c", as: "number" },
      { field: "all", column: "list", as: "list" },
      { field: "isOn", column: "on", as: "boolean" },
      { field: "gone", column: "a.x.c" },
    ]
    expect(mapped(row, ...fields).values).toEqual({ c: 7, all: [1, 2], isOn: true })
  })

  it("with cells that do not fit has a problem for each, with its column, and the other fields", () => {
    const fields: ReadonlyArray<FieldRule> = [
      { field: "id", column: "id" },
      { field: "price", column: "Preis", as: "number" },
      { field: "state", column: "Status", lookup: { neu: "new" } },
      { field: "isNew", column: "Neu", as: "boolean" },
    ]
    expect(mapped({ id: "1", Preis: "viel", Status: "alt", Neu: "vielleicht" }, ...fields)).toEqual({
      values: { id: "1" },
      problems: [
        { field: "price", column: "Preis", problem: '"viel" is no number such as 1234.5; give the locale that wrote it' },
        { field: "state", column: "Status", problem: 'its lookup has no "alt"; it has neu' },
        { field: "isNew", column: "Neu", problem: '"vielleicht" is neither yes nor no' },
      ],
    })
  })
})

describe("a mapping is refused", () => {
  const fields: ReadonlyArray<TargetField> = [
    { path: "price", type: "number", isRequired: true },
    { path: "address.city", type: "text", isRequired: false },
    { path: "more", type: "any", isRequired: false },
  ]

  it.each<readonly [Mapping, ReadonlyArray<string>]>([
    [{ fields: [{ field: "prise", column: "Preis" }] }, ["there is no such field: prise is not known; did you mean price?"]],
    [
      { fields: [{ field: "price", column: "Pries" }] },
      ["price is read from a column that the file does not have: Pries is not known; did you mean Preis?"],
    ],
    [{ fields: [{ field: "price" }] }, ["price has neither a column nor a value"]],
    [{ fields: [{ field: "price", column: "Preis", value: 1 }] }, ["price has a column and a value; keep one"]],
    [{ locale: "d", fields: [] }, ["it has the locale d, which does not exist; write it as de-DE"]],
    [
      {
        fields: [
          { field: "price", column: "Preis" },
          { field: "price", column: "Ort" },
        ],
      },
      ["price has two rules; keep one"],
    ],
    [
      {
        fields: [
          { field: "address", value: {} },
          { field: "address.city", column: "Ort" },
        ],
      },
      ["address.city is a part of address, which has a rule, too; keep one"],
    ],
    [{ fields: [{ field: "address..city", column: "Ort" }] }, [expect.stringContaining("address..city is no field"), expect.any(String)]],
    [{ fields: [{ field: "more.of.it", column: "Ort" }] }, []],
  ])("%j", (mapping, problems) => {
    expect(checkMapping(mapping, { columns: ["Preis", "Ort"], fields })).toEqual(problems)
  })
})

describe("a mapping is proposed", () => {
  const fields: ReadonlyArray<TargetField> = [
    { path: "sku", type: "text", isRequired: true },
    { path: "title", type: "text", isRequired: true },
    { path: "price", type: "number", isRequired: true },
    { path: "currency", type: "text", isRequired: false },
    { path: "isNew", type: "boolean", isRequired: false },
    { path: "since", type: "date", isRequired: false },
    { path: "address.city", type: "text", isRequired: false },
    { path: "state", type: "text", isRequired: false, choices: ["new", "used"] },
    { path: "weight", type: "number", isRequired: true },
  ]

  it("from names of other languages and spellings, and from values", () => {
    const columns = ["Artikel-Nr.", "Bezeichnung", "Preis", "Is new", "Since", "Stadt", "STATUS", "Lager"]
    const rows = [
      { "Artikel-Nr.": "1", Bezeichnung: "Saw", Preis: "1.012,50 €", "Is new": "ja", Since: "31.12.2025", Stadt: "Köln", STATUS: "New" },
      {
        "Artikel-Nr.": "2",
        Bezeichnung: "Axe",
        Preis: "7,00 €",
        "Is new": "nein",
        Since: "1.2.2026",
        Stadt: "Ulm",
        STATUS: "USED",
        Lager: "3",
      },
    ]
    const { mapping, unused, missing, notes } = proposeMapping({ columns, rows, fields })
    expect(mapping).toEqual({
      locale: "de-DE",
      fields: [
        { field: "sku", column: "Artikel-Nr." },
        { field: "title", column: "Bezeichnung" },
        { field: "price", column: "Preis", as: "amount" },
        { field: "currency", column: "Preis", as: "currency" },
        { field: "isNew", column: "Is new", as: "boolean" },
        { field: "since", column: "Since", as: "date" },
        { field: "address.city", column: "Stadt" },
        { field: "state", column: "STATUS", lookup: { new: "new", used: "used" } },
        { field: "weight", column: "Lager" },
      ],
    })
    expect([unused, missing, notes]).toEqual([[], [], []])
    expect(checkMapping(mapping, { columns, fields })).toEqual([])
    expect(rows.map((row) => makeMapRow(mapping)(row).problems)).toEqual([[], []])
  })

  it("from the parts of a compound, and a date from the only column with dates", () => {
    const { mapping, unused } = proposeMapping({
      columns: ["Artikelnummer", "Produktname", "Eingang", "Stand"],
      rows: [{ Artikelnummer: "1", Produktname: "Saw", Eingang: "31.12.2025", Stand: "voll" }],
      fields: fields.filter(({ path }) => ["sku", "title", "since"].includes(path)),
    })
    expect(mapping.fields).toEqual([
      { field: "sku", column: "Artikelnummer" },
      { field: "title", column: "Produktname" },
      { field: "since", column: "Eingang", as: "date" },
    ])
    expect(unused).toEqual(["Stand"])
    const dates = ["From", "To"].map((path) => ({ path, type: "date" as const, isRequired: false }))
    const rows = [{ Eingang: "31.12.2025" }]
    expect(proposeMapping({ columns: ["Eingang"], rows, fields: dates }).mapping.fields).toEqual([])
  })

  it("without coercion where the values are read as they are, and says which required fields are missing", () => {
    const proposal = proposeMapping({
      columns: ["sku", "price", "since", "other"],
      rows: [{ sku: "1", price: "12.5", since: "2026-01-31", other: "x" }],
      fields,
    })
    expect(proposal).toEqual({
      mapping: {
        fields: [
          { field: "sku", column: "sku" },
          { field: "price", column: "price" },
          { field: "since", column: "since" },
        ],
      },
      unused: ["other"],
      missing: ["title", "weight"],
      notes: [],
    })
  })

  it.each([
    ["03/04/2026", "en-US", 1],
    ["23/04/2026", "en-GB", 0],
    ["04/23/2026", "en-US", 0],
    ["23.04.2026", "de-DE", 0],
  ])("the order of %s is %s", (since, locale, notes) => {
    const proposal = proposeMapping({ columns: ["since"], rows: [{ since }], fields })
    expect([proposal.mapping.locale, proposal.notes.length]).toEqual([locale, notes])
  })
})

describe("names from clients", () => {
  it("a mapping of many long names gets few short problems", () => {
    const long = (index: number) => `${index}${"x".repeat(400)}`
    const columns = Array.from({ length: 2000 }, (_, index) => long(index))
    const rules = columns.map((column, index) => ({ field: `f${index}`, column: `${column.slice(0, -6)}yyyyyy` }))
    const problems = checkMapping({ fields: rules }, { columns })
    expect(problems).toHaveLength(20)
    for (const problem of problems) expect(problem.length).toBeLessThan(20_000)
  })

  it("a column that is a value and the path of others loses none of them, in any order", () => {
    const map = makeMapRow({ fields: [] })
    expect(map({ "address.city": "Bonn", address: "Am Hof 1" }).values).toEqual({ "address.city": "Bonn", address: "Am Hof 1" })
    expect(map({ address: "Am Hof 1", "address.city": "Bonn" }).values).toEqual({ "address.city": "Bonn", address: "Am Hof 1" })
  })
})
