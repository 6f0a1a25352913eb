import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, useServed } from "../support/served.ts"

const boundary = "----form-boundary"

const story = (id: number) => ({ id, type: "story", by: "ada", time: 1_700_000_000 + id, title: `Story ${id}` })

const lines = (from: number, count: number) => Array.from({ length: count }, (_, index) => JSON.stringify(story(from + index))).join("\n")

interface FormPart {
  readonly name: string
  readonly fileName?: string
  readonly content: string
}

const part = ({ name, fileName, content }: FormPart): string => {
  const type = fileName === undefined ? "" : `; filename="${fileName}"\r\ncontent-type: application/json`
  return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${type}\r\n\r\n${content}\r\n`
}

const formOf = (...parts: ReadonlyArray<FormPart>): string => `${parts.map(part).join("")}--${boundary}--\r\n`

const file = (content: string, name = "file"): FormPart => ({ name, fileName: "items.json", content })

const type = `multipart/form-data; boundary=${boundary}`

const send = (url: string, body: string, contentType = type, headers: Record<string, string> = {}) =>
  request(`${url}/api/v1/uploads`, { method: "POST", body, headers: { "content-type": contentType, ...headers } })

describe("the form of an upload", () => {
  const running = useServed()

  /** The form is refused with 400 and this text, and leaves neither an upload nor a file. */
  const refused = (body: string, expected: string, contentType?: string) =>
    Effect.gen(function* () {
      const { url, client, data } = yield* running
      const stored = Effect.all([
        Effect.map(client.uploads.list({ query: {} }), ({ uploads }) => uploads.map(({ batchId }) => batchId)),
        Effect.promise(() => readdir(join(data, "uploads")).catch(() => [])),
      ])
      const before = yield* stored
      for (const headers of [{}, { "idempotency-key": `key-${expected.length}-${body.length}` }]) {
        const answer = yield* send(url, body, contentType, headers)
        assert.deepStrictEqual([answer.status, answer.type], [400, "application/problem+json"], answer.text)
        assert.include(JSON.parse(answer.text).detail, expected)
      }
      assert.deepStrictEqual(yield* stored, before)
    })

  it.live("may have fields before its file, and text after its closing boundary", () =>
    Effect.gen(function* () {
      const { url } = yield* running
      const note = { name: "note", content: "of no use" }
      const answer = yield* send(url, `${formOf(note, file(lines(1, 2)))}text after the form`)
      assert.strictEqual(answer.status, 202, answer.text)
    }),
  )

  it.live("is refused without its closing boundary, wherever it was cut", () =>
    Effect.gen(function* () {
      const whole = formOf(file(lines(1000, 1000)))
      const cuts = [50_000, whole.length - 4, whole.length - 5, whole.length - 12, whole.length - boundary.length - 8, 30]
      for (const end of cuts) yield* refused(whole.slice(0, end), "ends before its closing boundary")
    }),
  )

  it.live("is refused with two files", () =>
    refused(formOf(file(lines(3000, 3)), file(lines(4000, 3))), "it has more than one file; send each"),
  )

  it.live("is refused with a file in a part of another name", () =>
    refused(formOf(file(lines(3000, 3), "document")), 'its file is in the part "document"; send it in the part file'),
  )

  it.live("is refused with a mapping that is sent as a file", () =>
    refused(formOf(file("{}", "mapping"), file(lines(3000, 3))), "its mapping is a file; send the text of it"),
  )

  it.live("is refused without a boundary in its content type", () =>
    refused(formOf(file(lines(3000, 3))), "its content type has no boundary", "multipart/form-data"),
  )

  it.live("is refused if it is empty", () => refused("", "it is empty or ends before its closing boundary"))

  it.live("is refused with a control character in the name of a file, also in two of them", () => {
    const bad = { ...file(lines(3000, 3)), fileName: "a\u0000b.json" }
    return Effect.andThen(
      refused(formOf(bad), "a part has malformed headers, such as a file name with a control character"),
      refused(formOf(bad, bad, file(lines(5000, 3))), "a part has malformed headers"),
    )
  })

  it.live("is refused with too many parts", () =>
    refused(formOf(...Array.from({ length: 12 }, (_, index) => ({ name: `field-${index}`, content: "x" }))), "it has more than 10 parts"),
  )
})

describe("the same file from several requests at once", () => {
  const running = useServed()

  it.live("is one upload: one request is accepted, and the others fail because it was uploaded before", () =>
    Effect.gen(function* () {
      const { url } = yield* running
      for (let round = 0; round < 5; round++) {
        const body = formOf(file(lines(10_000 * (round + 1), 20)))
        const answers = yield* Effect.all(
          Array.from({ length: 6 }, () => send(url, body)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [202, 409, 409, 409, 409, 409])
        const later = yield* send(url, body)
        const problems = [...answers, later].filter(({ status }) => status === 409).map(({ text }) => JSON.parse(text).type)
        assert.deepStrictEqual([...new Set(problems)], ["urn:detent:problem:AlreadyUploaded"])
      }
    }),
  )
})
