/** Named tokens, who did what, and the audit log, over HTTP. */
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { json, request, served } from "../support/served.ts"

const key = "operate-0123456789abcdef"
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const operator = bearer(key)

interface Answer {
  readonly status: number
  readonly text: string
}

const bodyOf = ({ text }: Answer) => JSON.parse(text)
const kindOf = (answer: Answer) => [answer.status, bodyOf(answer).type.split(":").at(-1)]

const databases = [
  ["SQLite", Effect.succeed(undefined)],
  ["PostgreSQL", freshDatabase],
] as const

describe.each(databases)("%s", (_, database) => {
  const opened = Effect.gen(function* () {
    const address = yield* database
    const { url, client, context } = yield* served({
      ...(address === undefined ? {} : { database: address }),
      serve: { token: Redacted.make(key) },
    })
    const post = (path: string, body: unknown, headers: Record<string, string> = operator) =>
      request(`${url}/api/v1/${path}`, json(body, headers))
    const get = (path: string, headers: Record<string, string> = operator) => request(`${url}/api/v1/${path}`, { headers })
    const made = (body: object) => Effect.map(post("tokens", body), (answer): string => bodyOf(answer).token)
    return { url, client, context, post, get, made }
  })

  it.live("a token may do what its role and scope say, and nothing else", () =>
    Effect.gen(function* () {
      const { post, get, made } = yield* opened
      for (const id of ["t-1", "t-2"]) yield* post("instances/tally", { id })
      const reader = yield* made({ name: "reader", role: "read" })
      assert.strictEqual((yield* get("instances", bearer(reader))).status, 200)
      assert.strictEqual((yield* post("instances/tally/t-1/events", { _tag: "Add", by: 1 }, bearer(reader))).status, 403)
      for (const path of ["tokens", "audit"]) assert.strictEqual((yield* get(path, bearer(reader))).status, 403)

      const shop = yield* made({ name: "shop", role: "operate", machines: ["tally"], events: ["Add"] })
      assert.strictEqual((yield* post("instances/tally/t-1/events", { _tag: "Add", by: 1 }, bearer(shop))).status, 200)
      assert.strictEqual((yield* get("instances/tally/t-1/history", bearer(shop))).status, 200)
      const closed = yield* post("instances/tally/t-1/events", { _tag: "Close" }, bearer(shop))
      assert.deepStrictEqual(kindOf(closed), [403, "OutOfScope"])
      assert.include(bodyOf(closed).detail, "this token may not send Close; it may send Add: ask the operator of the server")
      for (const path of [
        "instances/tally/t-1/labels",
        "instances/tally",
        "instances/other/t-1/events",
        "instances/bulk",
        "queues/q/pause",
      ])
        assert.deepStrictEqual(kindOf(yield* post(path, {}, bearer(shop))), [403, "OutOfScope"])
      for (const path of ["instances", "machines", "commands"])
        assert.deepStrictEqual(kindOf(yield* get(path, bearer(shop))), [403, "OutOfScope"])
      assert.strictEqual(bodyOf(yield* get("instances/tally/t-1")).state._tag, "Open")

      const machine = yield* made({ name: "machine", role: "operate", machines: ["tally"] })
      assert.strictEqual((yield* post("instances/tally", { id: "t-3" }, bearer(machine))).status, 201)
      assert.deepStrictEqual(kindOf(yield* post("machines/tally/purge", {}, bearer(machine))), [403, "OutOfScope"])
    }),
  )

  it.live("two secrets of a name are valid while one replaces the other; a revoked or expired one is refused", () =>
    Effect.gen(function* () {
      const { post, get, made } = yield* opened
      const first = yield* made({ name: "ci", role: "read" })
      assert.deepStrictEqual(kindOf(yield* post("tokens", { name: "ci", role: "read" })), [409, "TokenNameTaken"])
      const second: string = bodyOf(yield* post("tokens/ci/rotate", { keep: "1 hour" })).token
      for (const token of [first, second]) assert.strictEqual((yield* get("machines", bearer(token))).status, 200)
      assert.strictEqual((yield* post("tokens/ci/rotate", {})).status, 422)
      assert.strictEqual(bodyOf(yield* post("tokens/ci/revoke", undefined)).revoked, 2)
      for (const token of [first, second]) assert.strictEqual((yield* get("machines", bearer(token))).status, 401)
      assert.deepStrictEqual(kindOf(yield* post("tokens/ci/revoke", undefined)), [404, "TokenUnknown"])
      const third = yield* made({ name: "ci", role: "read" })
      const fourth: string = bodyOf(yield* post("tokens/ci/rotate", { keep: "0 seconds" })).token
      assert.deepStrictEqual([(yield* get("machines", bearer(third))).status, (yield* get("machines", bearer(fourth))).status], [401, 200])
    }),
  )

  it.live("tokens that make no sense are refused with the next step, and only hashes are stored", () =>
    Effect.gen(function* () {
      const { post, get, made, context } = yield* opened
      for (const [body, words] of [
        [{ name: "a b", role: "read" }, "64 letters"],
        [{ name: "a", role: "operate", events: ["Add"] }, "name the machines too"],
        [{ name: "a", role: "operate", machines: [] }, "leave it out for all"],
        [{ name: "a", role: "read", expiresIn: "soon" }, "90 days"],
        [{ name: "a", role: "read", expiresIn: "100000 days" }, "ten years"],
        [{ name: "a", role: "admin" }, "role"],
        [{ name: "a", role: "read", machine: "tally" }, "machine"],
      ] as const) {
        const answer = yield* post("tokens", body)
        assert.isTrue(answer.status >= 400 && answer.status < 500, answer.text)
        assert.include(bodyOf(answer).detail, words)
      }
      const token = yield* made({ name: "kept", role: "read", expiresIn: "90 days" })
      const listed = bodyOf(yield* get("tokens")).tokens
      assert.strictEqual(listed.length, 1)
      assert.include(listed[0], { name: "kept", role: "read", createdBy: "token operate" })
      const sql = Effect.provide(SqlClient, context)
      const rows = yield* Effect.flatMap(sql, (client) =>
        client.unsafe<object>(`select * from ${client.onDialectOrElse({ pg: () => "detent.tokens", orElse: () => "detent_tokens" })}`),
      )
      assert.notInclude(inspect(rows), token.slice(token.indexOf(".") + 1))
      assert.notInclude((yield* get("audit")).text, token)
    }),
  )

  it.live("the console opens a session with a named token, which ends with the token", () =>
    Effect.gen(function* () {
      const { url, post, get, made } = yield* opened
      const token = yield* made({ name: "ada", role: "operate" })
      const headers = { origin: url, "content-type": "application/json" }
      const session = yield* post("session", { token }, headers)
      assert.strictEqual(session.status, 200)
      const cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
      assert.strictEqual((yield* get("instances", { cookie })).status, 200)
      yield* post("instances/tally", { id: "by-ada" }, { ...headers, cookie })
      assert.deepStrictEqual(bodyOf(yield* get("instances/tally/by-ada")).startedBy, { kind: "token", name: "ada" })
      yield* post("tokens/ada/revoke", undefined)
      assert.strictEqual((yield* get("instances", { cookie })).status, 401)
      const scoped = yield* made({ name: "scoped", role: "read", machines: ["tally"] })
      assert.deepStrictEqual(kindOf(yield* post("session", { token: scoped }, headers)), [403, "TokenScoped"])
      const { entries } = bodyOf(yield* get("audit?operation=session."))
      assert.deepStrictEqual(
        entries.map(({ actor, operation }: Record<string, unknown>) => [actor, operation]),
        [[{ kind: "token", name: "ada" }, "session.open"]],
      )
    }),
  )

  it.live("a history says who sent each event, and is filtered by it; a start and labels by a token too", () =>
    Effect.gen(function* () {
      const { post, get, made } = yield* opened
      const ci = yield* made({ name: "ci", role: "operate" })
      yield* post("instances/tally", { id: "h-1" }, bearer(ci))
      yield* post("instances/tally/h-1/events", { _tag: "Add", by: 1 })
      yield* post("instances/tally/h-1/events", { _tag: "Add", by: 2 }, bearer(ci))
      const actorsOf = (query: string) =>
        Effect.map(get(`instances/tally/h-1/history${query}`), (answer) =>
          bodyOf(answer).entries.map(({ sequence, actor }: Record<string, unknown>) => [sequence, actor]),
        )
      const [operate, named] = [
        { kind: "token", name: "operate" },
        { kind: "token", name: "ci" },
      ]
      assert.deepStrictEqual(yield* actorsOf(""), [
        [1, operate],
        [2, named],
      ])
      assert.deepStrictEqual(yield* actorsOf("?actor=token+ci"), [[2, named]])
      assert.deepStrictEqual(bodyOf(yield* get("instances/tally/h-1")).startedBy, named)
    }),
  )

  it.live("the audit log has what operators did and were refused, in pages and by actor, and cannot be changed", () =>
    Effect.gen(function* () {
      const { post, get, made, context } = yield* opened
      const ci = yield* made({ name: "ci", role: "operate" })
      yield* post("queues/mails/pause", undefined, bearer(ci))
      yield* post("instances/tally", { id: "a-1" })
      yield* post("instances/tally/a-1/events", { _tag: "Add", by: 1 })
      yield* post("instances/tally/a-1/fork", { sequence: 7, id: "a-2" })
      const repeated = { ...operator, "idempotency-key": "pause-2" }
      for (const _ of [1, 2]) yield* post("queues/jobs/pause", undefined, repeated)
      const { entries } = bodyOf(yield* get("audit"))
      const shown = entries.map(({ actor, operation, object, outcome }: Record<string, { readonly name: string }>) => [
        actor?.name,
        operation,
        object,
        outcome,
      ])
      assert.deepStrictEqual(shown, [
        ["operate", "commands.pause", { queue: "jobs" }, "done"],
        ["operate", "instances.fork", { machine: "tally", id: "a-1" }, "refused"],
        ["ci", "commands.pause", { queue: "mails" }, "done"],
        ["operate", "access.createToken", { name: "ci" }, "done"],
      ])
      assert.include(entries[1].problem, "7")
      const page = bodyOf(yield* get("audit?limit=1&operation=commands."))
      assert.strictEqual(page.entries.length, 1)
      const next = bodyOf(yield* get(`audit?limit=1&operation=commands.&before=${page.next}`))
      assert.deepStrictEqual([next.entries[0].object, next.next], [{ queue: "mails" }, undefined])
      assert.strictEqual(bodyOf(yield* get("audit?actor=TOKEN+ci")).entries.length, 1)
      const changes = Effect.flatMap(Effect.provide(SqlClient, context), (client) => {
        const table = client.onDialectOrElse({ pg: () => "detent.audit", orElse: () => "detent_audit" })
        return Effect.forEach([`update ${table} set actor = 'user eve'`, `delete from ${table}`], (statement) =>
          Effect.flip(client.unsafe(statement)),
        )
      })
      assert.strictEqual((yield* changes).length, 2)
      assert.strictEqual(bodyOf(yield* get("audit")).entries.length, 4)
    }),
  )
})
