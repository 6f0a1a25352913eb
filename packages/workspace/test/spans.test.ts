import { Event, Machine, State } from "@detent/machine"
import { defineConfig, Workspace } from "@detent/workspace"
import * as machines from "@detent/workspace/operations/machines"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { folder } from "./support/folder.ts"

const S = State({ Open: {}, Shut: {} })
const E = Event({ Close: {} })
const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Open() }).on(S.Open, E.Close, S.Shut)

it.live("an operation is a span below that of its caller, with its outcome", () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    },
  })
  return Effect.gen(function* () {
    const data = yield* folder
    const both = Effect.all([Effect.exit(machines.get("door")), Effect.exit(machines.get("window"))])
    yield* both.pipe(
      Effect.withSpan("request"),
      Effect.withTracer(tracer),
      Effect.provide(Workspace.open({ data, role: "observe", config: defineConfig({ machines: [Door] }) })),
    )
    const ofOperation = spans.filter(({ name }) => name === "machines.get")
    expect(ofOperation.map(({ parent }) => Option.map(parent, (above) => "name" in above && above.name))).toEqual([
      Option.some("request"),
      Option.some("request"),
    ])
    expect(ofOperation.map(({ status }) => (status._tag === "Ended" ? status.exit._tag : "unended"))).toEqual(["Success", "Failure"])
  }).pipe(Effect.scoped)
})
