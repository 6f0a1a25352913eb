import { Journal } from "@detent/durable"
import { Event, Machine, reply, State, stay } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { json, request, served, temporaryFolder } from "../support/served.ts"

const secret = "4711-0815"

const Pin = State.sensitive(Schema.String).check(Schema.makeFilter((pin) => pin.length < 20 || `${pin} is too long`))
const Card = Schema.Struct({ holder: Schema.String, pins: Schema.Array(Schema.NullOr(Pin)) })
const S = State({ Empty: {}, Filled: { card: Card, way: Schema.Option(Pin), token: Schema.Redacted(Schema.String) } })
const E = Event({
  Fill: { card: Card, way: Schema.Option(Pin), token: Schema.Redacted(Schema.String) },
  GetCard: Event.reply({}, Card),
})
const Vault = Machine.make({ name: "vault", state: S, event: E, initial: S.Empty() })
  .on(S.Empty, E.Fill, S.Filled)
  .on(S.Filled, E.GetCard, stay, ({ state }) => reply(state.card))

/** The same machine, before and after its event got a field that stored events do not have. */
const chargeOf = (more: Schema.Struct.Fields) => {
  const event = Event({ Charge: { pin: State.sensitive(Schema.String), pins: Schema.Array(State.sensitive(Schema.String)), ...more } })
  const state = State({ Open: { count: Schema.Int } })
  return Machine.make({ name: "charge", state, event, initial: state.Open({ count: 0 }) }).on(
    state.Open,
    event.Charge,
    state.Open,
    ({ state: { count } }) => state.Open({ count: count + 1 }),
  )
}

describe("sensitive values of an event that is repaired", () => {
  it.live("stay as they are stored where they are sent back hidden, and are never replaced by the mark", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const params = { machine: "charge", id: "one" }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { client } = yield* served({ data, config: defineConfig({ machines: [chargeOf({})] }) })
          yield* client.instances.start({ params, payload: { id: "one" } })
          yield* client.instances.send({ params, headers: {}, payload: { _tag: "Charge", pin: secret, pins: ["11", "22"] } })
        }),
      )
      const { url, client, context } = yield* served({ data, config: defineConfig({ machines: [chargeOf({ note: Schema.String })] }) })
      const { held } = yield* client.instances.get({ params })
      const shown = { _tag: "Charge", pin: "•••", pins: ["•••", "•••"] }
      assert.deepStrictEqual(held?.stored, shown)
      const repair = (event: object) =>
        request(`${url}/api/v1/instances/charge/one/repair`, json({ sequence: 1, event: { ...shown, note: "late", ...event } }))
      // Which of the two was removed is not known.
      const shorter = yield* repair({ pins: ["•••"] })
      assert.strictEqual(shorter.status, 422)
      assert.include(shorter.text, "stands for a hidden value")
      assert.strictEqual((yield* repair({ pins: ["•••", "33"] })).status, 200)
      const [stored] = yield* Effect.provideContext(
        Effect.flatMap(Journal, (journal) => journal.events(params, 0, 1)),
        context,
      )
      assert.deepStrictEqual(JSON.parse(stored?.body ?? "").e, { _tag: "Charge", pin: secret, pins: ["11", "33"], note: "late" })
    }),
  )
})

describe("sensitive values inside other values", () => {
  it.live("are in no answer, problem, diagram, stream or log", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => logged.push(JSON.stringify(message)))
      const { url } = yield* Effect.provide(served({ config: defineConfig({ machines: [Vault] }) }), Logger.layer([logger]))
      const vault = `${url}/api/v1/machines/vault`
      const one = `${url}/api/v1/instances/vault/one`
      const fields = { card: { holder: "Ada", pins: [secret, null] }, way: { _tag: "Some", value: secret }, token: secret }
      const answers = [
        yield* request(`${url}/api/v1/instances/vault`, json({ id: "one" })),
        yield* request(`${one}/events`, json({ _tag: "Fill", ...fields, card: { holder: "Ada", pins: [secret.repeat(4)] } })),
        yield* request(`${one}/events`, json({ _tag: "Fill", ...fields, token: { secret } })),
        yield* request(`${one}/events`, json({ _tag: "Fill", ...fields })),
        yield* request(one),
        yield* request(`${one}/history`),
        yield* request(`${one}/states/1`),
        yield* request(`${one}/events`, json({ _tag: "GetCard" })),
        yield* request(`${vault}/diagram/sequence?instance=one`),
        yield* request(`${vault}/diagram/svg?instance=one`),
      ]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [201, 422, 422, 200, 200, 200, 200, 200, 200, 200],
        answers.map(({ text }) => text).join("\n"),
      )
      for (const { text } of answers) assert.notInclude(text, secret)
      assert.notInclude(logged.join("\n"), secret)
      const state = { _tag: "Filled", card: { holder: "Ada", pins: ["•••", null] }, way: "•••", token: "•••" }
      assert.deepStrictEqual(JSON.parse(answers[4]?.text ?? "").state, state)
      assert.deepStrictEqual(JSON.parse(answers[7]?.text ?? "").answer, state.card)
    }),
  )
})
