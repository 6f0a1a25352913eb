/** Webhooks over HTTP: signatures, what deliveries become, and what is refused. The same on each database. */

import { fork } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { join } from "node:path"
import { runWorkflow, startInstance, workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/server"
import { githubSignature, hmacSignature, sendEvent, stripeSignature, webhook } from "@detent/workspace/Webhook"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { request, served } from "./served.ts"
import { E, Tally } from "./Tally.ts"

const secret = "whsec_of_the_test"
const token = Redacted.make("operate-0123456789abcdef")

const Greeting = workflow({ name: "greeting", input: { name: Schema.String } }, async ({ name }) => `hello ${name}`)

const Payment = Schema.Struct({ id: Schema.String, type: Schema.String, data: Schema.Struct({ order: Schema.String, cents: Schema.Int }) })

const config = defineConfig({
  machines: [Tally],
  workflows: [Greeting],
  webhooks: [
    webhook("stripe", {
      verify: stripeSignature([secret, "whsec_of_tomorrow"]),
      body: Payment,
      id: ({ body }) => body.id,
      on: ({ body: { type, data } }) => (type === "paid" ? sendEvent(Tally, data.order, E.Add({ by: data.cents })) : undefined),
    }),
    webhook("github", {
      verify: githubSignature(secret),
      body: Schema.Struct({ repository: Schema.String }),
      id: ({ headers }) => headers["x-github-delivery"],
      on: ({ body, headers }) => runWorkflow(Greeting, `greeting-${headers["x-github-delivery"]}`, { name: body.repository }),
    }),
    webhook("shop", {
      verify: hmacSignature(secret, { header: "X-Shop-Hmac-Sha256", encoding: "base64" }),
      body: Schema.Struct({ id: Schema.String }),
      id: ({ body }) => body.id,
      on: ({ body }) => startInstance(Tally, body.id),
    }),
    webhook("unready", { verify: githubSignature(undefined), body: Schema.Unknown, id: () => "one", on: () => undefined }),
  ],
})

const signed = (text: string, at = Date.now(), by = secret) => {
  const time = Math.floor(at / 1000)
  return { "stripe-signature": `t=${time},v1=${createHmac("sha256", by).update(`${time}.${text}`).digest("hex")},v0=${"0".repeat(64)}` }
}

const deliver = (url: string, name: string, text: string, headers: Readonly<Record<string, string>>) =>
  request(`${url}/webhooks/${name}`, { method: "POST", body: text, headers: { "content-type": "application/json", ...headers } })

const payment = (id: string, order: string, cents = 500, type = "paid") => JSON.stringify({ id, type, data: { order, cents } })

const github = (text: string) => ({ "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}` })

/** The tests of webhooks, on fresh databases of one kind. */
export const describeWebhooks = (kind: string, freshDatabase: Effect.Effect<string, never, Scope.Scope>) => {
  describe(`webhooks on ${kind}`, () => {
    const serving = Effect.flatMap(freshDatabase, (database) => served({ config, serve: { token }, database }))

    it.live("a signed delivery becomes an event once, without a token; repeated and concurrent deliveries change nothing", () =>
      Effect.gen(function* () {
        const { url, client } = yield* serving
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "order-7" } })
        const text = payment("evt_1", "order-7")
        const many = yield* Effect.all(
          Array.from({ length: 10 }, () => deliver(url, "stripe", text, signed(text))),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          many.map(({ status, text: answer }) => [status, answer]),
          many.map(() => [200, '{"accepted":true}']),
        )
        const later = payment("evt_2", "order-7", 20)
        assert.strictEqual((yield* deliver(url, "stripe", later, signed(later, Date.now(), "whsec_of_tomorrow"))).status, 200)
        const { state, sequence } = yield* client.instances.get({ params: { machine: "tally", id: "order-7" } })
        assert.deepInclude(state, { count: 520 })
        assert.strictEqual(sequence, 2)
        const other = payment("evt_3", "order-7", 500, "customer.created")
        assert.strictEqual((yield* deliver(url, "stripe", other, signed(other))).text, '{"accepted":false}')
      }),
    )

    it.live("a delivery starts an execution or an instance, once", () =>
      Effect.gen(function* () {
        const { url, client } = yield* serving
        const text = JSON.stringify({ repository: "detent" })
        const headers = { ...github(text), "x-github-delivery": "72d3162e" }
        for (const _ of [1, 2]) assert.strictEqual((yield* deliver(url, "github", text, headers)).status, 200)
        const params = { workflow: "greeting", id: "greeting-72d3162e" }
        const ended = Effect.map(client.executions.get({ params }), (view) => view.ended)
        while (!(yield* ended)) yield* Effect.sleep("20 millis")
        assert.deepInclude(yield* client.executions.get({ params }), { phase: "Completed" })
        const shop = JSON.stringify({ id: "shop-1" })
        const base64 = { "x-shop-hmac-sha256": createHmac("sha256", secret).update(shop).digest("base64") }
        for (const _ of [1, 2]) assert.strictEqual((yield* deliver(url, "shop", shop, base64)).status, 200)
        assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id: "shop-1" } })).sequence, 0)
      }),
    )

    it.live("what is not signed, signed wrongly or long ago, or does not fit is refused with the next step, and changes nothing", () =>
      Effect.gen(function* () {
        const { url, client } = yield* serving
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "order-8" } })
        const text = payment("evt_9", "order-8")
        const refusals: ReadonlyArray<readonly [string, string, Readonly<Record<string, string>>, number, RegExp]> = [
          ["stripe", text, {}, 401, /stripe-signature has no signature; the sender has to sign it/],
          ["stripe", text, { "stripe-signature": "v1=abc" }, 401, /a signature of another form; check that the webhook names the scheme/],
          ["stripe", text.replace("500", "900"), signed(text), 401, /a wrong signature; check that the secret is that of this webhook/],
          ["stripe", text, signed(text, Date.now(), "whsec_of_another"), 401, /a wrong signature/],
          ["stripe", text, signed(text, Date.now() - 3_600_000), 401, /was signed too long ago, or the clocks .* differ/],
          ["stripe", text, signed(text, Date.now() + 3_600_000), 401, /was signed too long ago, or the clocks .* differ/],
          ["stripe", "{", signed("{"), 422, /it is not JSON; correct the body/],
          ["stripe", "{}", signed("{}"), 422, /does not fit: .*id/],
          ["github", '{"repository":"x"}', github('{"repository":"x"}'), 422, /its id is undefined, and not a text of 1 to 200/],
          ["unready", "{}", github("{}"), 401, /this server has no secret for it; give the signature a secret/],
        ]
        for (const [name, body, headers, status, problem] of refusals) {
          const answer = yield* deliver(url, name, body, headers)
          assert.strictEqual(answer.status, status, answer.text)
          assert.match(JSON.parse(answer.text).detail, problem)
          assert.notInclude(answer.text, secret)
        }
        assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id: "order-8" } })).sequence, 0)
        const lost = payment("evt_10", "no-order")
        assert.strictEqual((yield* deliver(url, "stripe", lost, signed(lost))).status, 404)
        assert.strictEqual((yield* deliver(url, "nothing", "{}", {})).status, 404)
        const read = yield* request(`${url}/webhooks/stripe`, { headers: { authorization: `Bearer ${Redacted.value(token)}` } })
        assert.strictEqual(read.status, 405)
        assert.strictEqual((yield* request(`${url}/webhooks/stripe`)).status, 401)
      }),
    )
  })

  describe(`a delivery that a killed server on ${kind} has taken`, () => {
    it.live("is made once when its sender repeats it at the next server", () =>
      Effect.gen(function* () {
        const database = yield* freshDatabase
        const begin = Effect.promise(async () => {
          const child = fork(join(import.meta.dirname, "webhookServer.ts"), [database, secret], { execArgv: [] })
          const [url] = (await once(child, "message")) as [string]
          return { child, url }
        })
        const text = (n: number) => payment(`evt_${n}`, "order-1", 1)
        const first = yield* begin
        yield* Effect.sync(() => setTimeout(() => first.child.kill("SIGKILL"), 150))
        const sent = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, n) => n),
          (n) =>
            Effect.promise(() =>
              fetch(`${first.url}/webhooks/stripe`, { method: "POST", body: text(n), headers: signed(text(n)) }).then(
                ({ status }) => status === 200,
                () => false,
              ),
            ),
          { concurrency: 4 },
        )
        const second = yield* begin
        for (const n of sent.keys()) {
          const answer = yield* deliver(second.url, "stripe", text(n), signed(text(n)))
          assert.strictEqual(answer.status, 200, answer.text)
        }
        const counted = yield* request(`${second.url}/api/v1/instances/tally/order-1`)
        assert.deepInclude(JSON.parse(counted.text), { sequence: 200 })
        yield* Effect.sync(() => second.child.kill("SIGKILL"))
      }),
    )
  })
}
