import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { CommandApi, InstanceApi, MachineApi } from "@detent/api"
import * as Schema from "effect/Schema"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detent as run, startInTerminal, temporaryFolder } from "./support/Detent.ts"
import { bothSystems, lampConfig, project } from "./support/Project.ts"

let cwd = ""
/** Of a command that failed. */
let billKey = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, lampConfig("Schema.Int", bothSystems))
})

const Standing = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: InstanceApi.Tagged,
  accepts: Schema.optionalKey(Schema.Array(Schema.String)),
})

describe("instances of a machine of one's own", () => {
  it("are started with the fields of their first state, once", async () => {
    const begun = await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}', "--json")
    assert.deepStrictEqual(decoded(Standing, begun.out)[0]?.state, { _tag: "Off", pin: "•••" })
    const second = await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}')
    assert.strictEqual(second.code, 4)
    assert.include(second.err, "see `detent instance show hall`")
    const without = await detent("instance", "start", "lamp", "attic")
    assert.strictEqual(without.code, 2)
    assert.include(without.err, `Off, such as --with '{"pin":"…"}'; see \`detent machine show lamp\``)
    assert.strictEqual((await detent("instance", "start", "kettle", "k")).code, 3)
  })

  it("take events their state accepts, under an id only once", async () => {
    const sent = await detent("instance", "send", "hall", "Switch", "--with", '{"level":3}', "--key", "k-1")
    assert.strictEqual(sent.code, 0, sent.err)
    assert.deepStrictEqual(JSON.parse(sent.out), { _tag: "On", pin: "•••", level: 3 })
    assert.include(sent.err, "the instance accepts Rest")
    const again = await detent("instance", "send", "lamp/hall", "Switch", "--with", '{"level":3}', "--key", "k-1", "--json")
    assert.include(JSON.parse(again.out), { sequence: 1, status: "running" })
    assert.include(again.err, "answered from key k-1: event 1, Switch, was sent before")
    const [otherEvent, otherFields] = [
      await detent("instance", "send", "hall", "Rest", "--key", "k-1"),
      await detent("instance", "send", "hall", "Switch", "--with", '{"level":4}', "--key", "k-1"),
    ]
    assert.strictEqual(otherEvent.code, 4)
    assert.include(otherEvent.err, "key k-1 of lamp/hall belongs to event 1, Switch; nothing was sent")
    assert.strictEqual(otherFields.code, 4)
    assert.include(otherFields.err, "Switch with other fields")
  })

  it("refuse what does not fit: 4 for another state's event, 2 for wrong fields, 3 for another id", async () => {
    const illegal = await detent("instance", "send", "hall", "Switch", "--with", '{"level":3}')
    assert.strictEqual(illegal.code, 4)
    assert.include(illegal.err, "it accepts Rest")
    assert.strictEqual((await detent("instance", "send", "hall", "Switch", "--with", '{"level":"x"}')).code, 2)
    assert.strictEqual((await detent("instance", "send", "hall", "Switch", "--with", "level=3")).code, 2)
    assert.strictEqual((await detent("instance", "send", "cellar", "Rest")).code, 3)
  })

  it("are listed, shown, at any moment too, and have a history", async () => {
    const listed = decoded(InstanceApi.InstanceListing, (await detent("instance", "list", "--machine", "lamp", "--json")).out)
    assert.deepInclude(listed[0], { machine: "lamp", id: "hall", state: "On", sequence: 1 })
    const table = await detent("instance", "list", "--state", "On")
    assert.match(table.out, /^MACHINE +ID +STATE +STATUS +EVENTS +CHANGED\nlamp +hall +On +running +1 /)
    assert.strictEqual((await detent("instance", "list", "--machine", "kettle")).code, 3)
    const misspelt = await detent("instance", "list", "--machine", "lamp", "--state", "Of")
    assert.strictEqual(misspelt.code, 2)
    assert.include(misspelt.err, "its states are Off, On")
    const before = decoded(InstanceApi.InstanceView, (await detent("instance", "show", "hall", "--at", "0", "--json")).out)[0]
    assert.deepInclude(before, { state: { _tag: "Off", pin: "•••" }, status: "running", updatedAt: before?.startedAt ?? 0 })
    assert.strictEqual((await detent("instance", "show", "hall", "--at", "9")).code, 3)
    const history = decoded(InstanceApi.HistoryEntry, (await detent("instance", "history", "hall", "--json")).out)
    assert.deepInclude(history[0], { sequence: 1, from: "Off", dedupeId: "k-1" })
    assert.notInclude(JSON.stringify(history), "pin-4711")
  })

  it("come in pages", async () => {
    await detent("instance", "start", "lamp", "stairs", "--with", '{"pin":"0815"}')
    const first = await detent("instance", "list", "--limit", "1", "--json")
    const cursor = /--after (\S+)/.exec(first.err)?.[1] ?? ""
    const second = await detent("instance", "list", "--limit", "1", "--json", "--after", cursor)
    const ids = [first, second].flatMap(({ out }) => decoded(InstanceApi.InstanceListing, out)).map(({ id }) => id)
    assert.deepStrictEqual(ids.sort(), ["hall", "stairs"])
    assert.strictEqual((await detent("instance", "list", "--after", "nonsense")).code, 2)
  })

  it("request effects, which a worker executes", async () => {
    const waiting = decoded(CommandApi.StoredCommand, (await detent("command", "list", "--json")).out)
    assert.deepInclude(waiting[0], { slot: "sendBill", status: "pending", id: "hall" })
    const key = waiting[0]?.key ?? ""
    assert.strictEqual((await detent("command", "retry", key)).code, 4)
    const worked = await detent("worker", "--until-idle")
    assert.strictEqual(worked.code, 1, worked.err)
    assert.include(worked.err, "1 command failed for good: detent command list --status failed\n")
    const later = await detent("worker", "--until-idle")
    assert.deepStrictEqual([later.code, later.err.trim().split("\n").at(-1)], [0, "nothing is left to do"])
    const failed = decoded(CommandApi.StoredCommand, (await detent("command", "list", "--status", "failed", "--json")).out)
    assert.include(failed[0]?.problem, "the post office is closed")
    billKey = key
  })

  it("whose effects failed for good have them retried or given up", async () => {
    const key = billKey
    const dry = [
      await detent("command", "retry", "--slot", "sendBill", "--dry-run"),
      await detent("command", "retry", key, "--dry-run"),
      await detent("command", "retry", "--slot", "sendMail", "--dry-run"),
      await detent("command", "retry", "--all", "--dry-run", "--json"),
    ]
    assert.deepStrictEqual(
      dry.map(({ out }) => out),
      [
        "1 command would be executed again\n",
        "1 command would be executed again\n",
        "0 commands would be executed again\n",
        '{"count":1,"dryRun":true}\n',
      ],
    )
    assert.strictEqual((await detent("command", "retry")).code, 2)
    const unasked = await detent("command", "retry", "--all")
    assert.strictEqual(unasked.code, 4)
    assert.include(unasked.err, "--yes")
    assert.deepStrictEqual(JSON.parse((await detent("command", "retry", "--all", "--yes", "--json")).out), { count: 1, dryRun: false })
    assert.match((await detent("command", "list")).out, /sendBill +pending +0, retry 1 /)

    assert.strictEqual((await detent("command", "skip", key, "--yes")).code, 2)
    const skipped = await detent("command", "skip", key, "--reason", "sent by hand", "--yes", "--json")
    assert.deepInclude(decoded(CommandApi.StoredCommand, skipped.out)[0], { status: "skipped", problem: "sent by hand" })
    assert.strictEqual((await detent("command", "skip", key, "--reason", "again", "--yes")).code, 4)
    assert.strictEqual((await detent("command", "skip", "none", "--reason", "x", "--yes")).code, 3)
  })

  it("are drawn, with the way one took, and their machine is shown", async () => {
    const listed = decoded(MachineApi.MachineListing, (await detent("machine", "list", "--json")).out)
    assert.deepStrictEqual(
      listed.map(({ name }) => name),
      ["UploadBatch", "UploadItem", "batch", "lamp", "workflow/extraction"],
    )
    assert.deepInclude(
      listed.find(({ name }) => name === "lamp"),
      { states: ["Off", "On"], events: ["Switch", "Rest"] },
    )
    const shown = await detent("machine", "show", "lamp")
    assert.match(shown.out, /Off +Switch +On/)
    assert.match(shown.out, /^On +pin level +sendBill on enter$/m)
    assert.include((await detent("machine", "diagram", "lamp")).out, " : Switch")
    assert.include((await detent("machine", "diagram", "lamp", "--instance", "hall")).out, " : ● Switch")
    assert.include((await detent("machine", "diagram", "lamp", "--format", "dot")).out, "digraph")
    const way = (format: string) => detent("machine", "diagram", "lamp", "--instance", "hall", "--format", format)
    const story = (await way("sequence")).out
    assert.match(story, /^sequenceDiagram\n(.*\n)+ +e->>m: Switch/)
    assert.include(story, "m-)c: ⚙ sendBill")
    assert.match((await way("timeline")).out, /step0 -> step1 \[label="Switch/)
    assert.match((await way("svg")).out, /^<svg /)
    const nameless = await detent("machine", "diagram", "lamp", "--format", "timeline")
    assert.strictEqual(nameless.code, 2)
    assert.include(nameless.err, "--instance ID")
    const drawn = await detent("machine", "diagram", "lamp", "--format", "svg", "--json")
    assert.match(JSON.parse(drawn.out).text, /^<svg /)
    assert.strictEqual((await detent("machine", "diagram", "workflow/extraction")).code, 2)
  })

  it("that no longer fit their definition are found before a deploy, and held", async () => {
    assert.strictEqual((await detent("machine", "check", "lamp")).code, 0)
    await writeFile(join(cwd, "detent.config.ts"), lampConfig('Schema.Literals(["dim", "bright"])'))
    const checked = await detent("machine", "check", "--json")
    assert.strictEqual(checked.code, 1)
    assert.include(checked.out, '"id":"hall"')
    const refused = await detent("instance", "send", "hall", "Rest")
    assert.strictEqual(refused.code, 1)
    assert.include(refused.err, "held at sequence 1")
    assert.deepInclude(JSON.parse((await detent("instance", "show", "hall", "--json")).out), { status: "held" })
  })

  it("that are held are repaired when the user agrees, in a terminal or with --yes", async () => {
    const repair = ["instance", "repair", "hall", "1", "Switch", "--with", '{"level":"dim"}']
    assert.strictEqual((await detent(...repair)).code, 4)
    assert.strictEqual((await detent("instance", "repair", "hall", "one", "Switch", "--yes")).code, 2)
    const silent = startInTerminal([...repair, "--no-input"], { cwd })
    assert.strictEqual((await silent.ended).code, 4)
    const refused = startInTerminal(repair, { cwd })
    await refused.until("[y/N]")
    refused.type("n\n")
    assert.strictEqual((await refused.ended).code, 4)
    const interrupted = startInTerminal(repair, { cwd })
    await interrupted.until("[y/N]")
    interrupted.type("\x03")
    assert.strictEqual((await interrupted.ended).code, 130)

    const agreed = startInTerminal(repair, { cwd })
    await agreed.until("[y/N]")
    agreed.type("yes\n")
    assert.include((await agreed.ended).out, '"level":"dim"')
    assert.strictEqual((await detent("machine", "check")).code, 0)
    const again = await detent(...repair, "--yes")
    assert.strictEqual(again.code, 4)
    assert.include(again.err, "is not held")
  })
})

describe("the history of an instance", () => {
  it("comes in pages", async () => {
    const cwd = join(await temporaryFolder(), "porch")
    await project(cwd, lampConfig())
    const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
    await detent("instance", "start", "lamp", "porch", "--with", '{"pin":"pin-4711"}')
    await detent("instance", "send", "porch", "Switch", "--with", '{"level":1}')
    await detent("instance", "send", "porch", "Rest")
    const first = await detent("instance", "history", "porch", "--limit", "1", "--json")
    assert.include(first.err, "more with --after 1\n")
    const second = await detent("instance", "history", "porch", "--limit", "1", "--after", "1", "--json")
    assert.notInclude(second.err, "more with")
    const events = [first, second].flatMap(({ out }) => decoded(InstanceApi.HistoryEntry, out)).map(({ event }) => event._tag)
    assert.deepStrictEqual(events, ["Switch", "Rest"])
    assert.include((await detent("instance", "history", "porch", "--after", "2")).err, "no events after 2; the last event is 2")
    assert.strictEqual((await detent("instance", "history", "porch", "--after", "-1")).code, 2)
  })
})
