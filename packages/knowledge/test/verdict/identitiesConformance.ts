import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { mentionsOf } from "../../src/graph/MovedMentions.ts"
import { IdentityStore } from "../../src/review/IdentityStore.ts"
import { Identities } from "../../src/verdict/Identities.ts"
import { base, canonical, harbour as harbourOf, manifest, type Setting, sea } from "../batch/sea.ts"

const files = {
  "one.txt": "ShipAlba passed ShipCetus.",
  "two.txt": "ShipBora passed ShipDorado.",
  "three.txt": "ShipAlba passed ShipElba.",
}

/** Other words around the same ships, so that the next batch extracts the document again. */
const changeDocument = (input: string, name: keyof typeof files) =>
  Effect.promise(() => writeFile(join(input, name), `${files[name]} The sea was calm.`))

const run = (folder: Parameters<Batches["Service"]["start"]>[0], names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const id = yield* batches.start(folder, manifest(names), { config: { validation: "warn" } })
    assert.strictEqual((yield* batches.awaitEnd(id))._tag, "Completed")
  })

/** The entities by their labels; the facts as label, property and label, each with the number of its statements. */
const shown = (data: string) =>
  Effect.map(canonical(data), ({ lines }) => {
    const parts = lines.map((line) => /^<([^>]*)> <([^>]*)> (?:<([^>]*)>|"([^"]*)".*) \.$/.exec(line)?.slice(1) ?? [])
    const labels = new Map<string, ReadonlyArray<string>>()
    for (const [subject = "", property = "", , text = ""] of parts)
      if (property.endsWith("#label")) labels.set(subject, [...(labels.get(subject) ?? []), text].toSorted())
    const nameOf = (iri = "") => `${(labels.get(iri) ?? ["?"]).join("/")}`
    const facts = parts
      .filter(([, property = ""]) => property === `${base}passed`)
      .map(([subject, , object]) => `${nameOf(subject)} > ${nameOf(object)}`)
    const statements = new Map<string, Array<string>>()
    for (const [subject = "", property = "", object = ""] of parts)
      if (subject.startsWith("urn:detent:statement:") && /#(?:subject|object)$/.test(property))
        statements.set(subject, [...(statements.get(subject) ?? []), `${property.split("#")[1]} ${nameOf(object)}`].toSorted())
    const names = [...labels.values()].map((all) => all.join("/")).toSorted()
    const iris = (name: string) => [...labels].flatMap(([iri, all]) => (all.join("/") === name ? [iri] : [])).toSorted()
    return { names, facts: facts.toSorted(), statements: [...statements.values()].map((one) => one.join(", ")).toSorted(), iris, lines }
  })

const documentOf = (lines: ReadonlyArray<string>, file: string): string => {
  const line = lines.find((one) => one.includes("/dc/terms/source>") && one.includes(file)) ?? ""
  return /document:([^>]*)>/.exec(line)?.[1] ?? ""
}

/** What corrections of entities do on a database. */
export const identitiesConformance = <E>(name: string, database: Effect.Effect<Pick<Setting, "store">, E, Scope.Scope>) => {
  const harbour = (setting: Setting) => Effect.flatMap(database, (store) => harbourOf({ ...setting, ...store }))
  describe(`a person who corrects entities of a graph on ${name}`, () => {
    it.live("joins two entities, for later batches too, and takes it back", () =>
      Effect.gen(function* () {
        const { layer, folder, data, input } = yield* harbour({ files })
        yield* Effect.gen(function* () {
          const identities = yield* Identities
          yield* run(folder, ["one.txt", "two.txt"])
          const before = yield* shown(data)
          assert.deepStrictEqual(before.names, ["ShipAlba", "ShipBora", "ShipCetus", "ShipDorado"])
          const [alba = "", bora = ""] = [...before.iris("ShipAlba"), ...before.iris("ShipBora")]
          const decision = yield* identities.decide(
            sea,
            { kind: "merge", entities: [alba, bora] },
            { by: "ada", reason: "renamed in 1913" },
          )
          assert.include(decision, { kind: "merge", state: "applied", by: "ada", reason: "renamed in 1913", mentions: 2 })
          const merged = yield* shown(data)
          assert.deepStrictEqual(merged.names, ["ShipAlba/ShipBora", "ShipCetus", "ShipDorado"])
          assert.deepStrictEqual(merged.facts, ["ShipAlba/ShipBora > ShipCetus", "ShipAlba/ShipBora > ShipDorado"])
          assert.deepStrictEqual(merged.statements, [
            "object ShipCetus, subject ShipAlba/ShipBora",
            "object ShipDorado, subject ShipAlba/ShipBora",
          ])
          assert.deepStrictEqual(merged.iris("ShipAlba/ShipBora"), [alba])
          assert.lengthOf(
            merged.lines.filter((line) => line.includes(bora)),
            0,
          )

          // Extracted again, the documents have no line in the graph that would decide it.
          yield* changeDocument(input, "one.txt")
          yield* changeDocument(input, "two.txt")
          yield* run(folder, ["one.txt", "two.txt", "three.txt"])
          assert.deepStrictEqual((yield* shown(data)).names, ["ShipAlba/ShipBora", "ShipCetus", "ShipDorado", "ShipElba"])

          const [listed] = yield* identities.list(sea, { limit: 10 })
          assert.deepStrictEqual(listed, decision)
          const undone = yield* identities.undo(sea, decision.id, { by: "bob" })
          assert.include(undone, { state: "undone", undoneBy: "bob" })
          const after = yield* shown(data)
          assert.deepStrictEqual(after.names, ["ShipAlba", "ShipBora", "ShipCetus", "ShipDorado", "ShipElba"])
          assert.deepStrictEqual(after.facts, ["ShipAlba > ShipCetus", "ShipAlba > ShipElba", "ShipBora > ShipDorado"])
          assert.deepStrictEqual(after.iris("ShipBora"), [bora])
          assert.strictEqual((yield* identities.undo(sea, decision.id, { by: "bob" })).state, "undone")
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("takes an entity apart by documents, and later batches keep it apart", () =>
      Effect.gen(function* () {
        const { layer, folder, data, input } = yield* harbour({ files })
        yield* Effect.gen(function* () {
          const identities = yield* Identities
          const names = Object.keys(files)
          yield* run(folder, names)
          const before = yield* shown(data)
          const [alba = ""] = before.iris("ShipAlba")
          const document = documentOf(before.lines, "three.txt")
          const decision = yield* identities.decide(sea, { kind: "split", entities: [alba], documents: [document] }, { by: "ada" })
          const split = yield* shown(data)
          assert.deepStrictEqual(split.names, ["ShipAlba", "ShipAlba", "ShipBora", "ShipCetus", "ShipDorado", "ShipElba"])
          const own = decision.entities[1] ?? ""
          assert.deepStrictEqual(split.iris("ShipAlba"), [alba, own].toSorted())
          assert.isTrue(split.lines.some((line) => line.startsWith(`<${own}> <${base}passed>`)))
          assert.lengthOf(
            split.lines.filter((line) => line.startsWith(`<${alba}> <${base}passed>`)),
            1,
          )

          // Both documents are extracted again, so that no line of the graph tells the two ships apart.
          yield* changeDocument(input, "one.txt")
          yield* changeDocument(input, "three.txt")
          yield* run(folder, names)
          const again = yield* shown(data)
          assert.deepStrictEqual(again.iris("ShipAlba"), [alba, own].toSorted())
          assert.deepStrictEqual(again.facts, split.facts)

          const later = yield* identities.decide(sea, { kind: "merge", entities: [own, alba] }, { by: "ada" })
          const refused = yield* Effect.flip(identities.undo(sea, decision.id, { by: "ada" }))
          assert.strictEqual(refused.message, `decision ${later.id} builds on decision ${decision.id}; undo decision ${later.id} first`)
          yield* identities.undo(sea, later.id, { by: "ada" })
          yield* identities.undo(sea, decision.id, { by: "ada" })
          const after = yield* shown(data)
          assert.deepStrictEqual([after.names, after.facts, after.iris("ShipAlba")], [before.names, before.facts, [alba]])
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("keeps two entities apart, and is told what cannot be", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files })
        yield* Effect.gen(function* () {
          const identities = yield* Identities
          yield* run(folder, ["one.txt", "two.txt"])
          const before = yield* shown(data)
          const [alba = "", bora = ""] = [...before.iris("ShipAlba"), ...before.iris("ShipBora")]
          yield* identities.decide(sea, { kind: "different", entities: [alba, bora] }, { by: "ada" })
          assert.deepStrictEqual((yield* shown(data)).lines, before.lines)
          const refusal = (kind: "merge" | "split" | "different", entities: ReadonlyArray<string>, documents?: ReadonlyArray<string>) =>
            Effect.map(Effect.flip(identities.decide(sea, { kind, entities, documents }, { by: "ada" })), ({ message }) => message)
          assert.strictEqual(yield* refusal("merge", [alba, alba]), "merge needs two different entities")
          assert.include(yield* refusal("merge", [alba, "urn:detent:graph:sea:none"]), "has no entity urn:detent:graph:sea:none")
          assert.include(yield* refusal("split", [alba]), `nothing of ${alba} would stay`)
          assert.include(yield* refusal("split", [alba], ["doc-of-another"]), "has no mention in doc-of-another")
          assert.include((yield* Effect.flip(identities.undo(sea, 99, { by: "ada" }))).message, "has no decision 99")
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("is refused a merge with which the graph would violate its shapes", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files })
        yield* Effect.gen(function* () {
          const [batches, identities] = [yield* Batches, yield* Identities]
          const id = yield* batches.start(folder, { ...manifest(["one.txt", "two.txt"]), shapes: "shapes.ttl" } as ReturnType<
            typeof manifest
          >)
          assert.strictEqual((yield* batches.awaitEnd(id))._tag, "Completed")
          const before = yield* shown(data)
          const [alba = "", bora = ""] = [...before.iris("ShipAlba"), ...before.iris("ShipBora")]
          const refused = yield* Effect.flip(identities.decide(sea, { kind: "merge", entities: [alba, bora] }, { by: "ada" }))
          assert.include(refused.message, "passed too many")
          assert.deepStrictEqual((yield* shown(data)).lines, before.lines)
          assert.deepStrictEqual(yield* identities.list(sea, { limit: 10 }), [])
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("has every decision in the graph, though the process was killed before the graph had it", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files })
        yield* Effect.gen(function* () {
          const [identities, store] = [yield* Identities, yield* IdentityStore]
          yield* run(folder, ["one.txt", "two.txt"])
          const before = yield* shown(data)
          const entities = [...before.iris("ShipAlba"), ...before.iris("ShipBora")]
          const found = yield* mentionsOf(Stream.fromIterable(before.lines), new Set(entities))
          const moves = [...found.values()].flat().map(({ entity, ...of }) => ({ ...of, before: entity, after: entities[0] ?? "" }))
          const stored = yield* store.add({ namespace: sea, kind: "merge", entities, by: "ada", at: 1, moves })
          assert.strictEqual(stored.state, "pending")
          yield* identities.finish
          assert.include((yield* shown(data)).names, "ShipAlba/ShipBora")
          assert.isTrue(yield* store.change({ ...stored, state: "applied" }, { state: "reverting", by: "ada", at: 2 }))
          yield* identities.finish
          assert.deepStrictEqual((yield* shown(data)).lines, before.lines)
          assert.deepInclude((yield* identities.list(sea, { limit: 1 }))[0], { state: "undone", undoneBy: "ada", undoneAt: 2 })
        }).pipe(Effect.provide(layer))
      }),
    )
  })
}
