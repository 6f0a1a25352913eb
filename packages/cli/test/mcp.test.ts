import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { detent, type Running, start, temporaryFolder } from "./support/Detent.ts"
import { copyFewDocuments, lampConfig, project } from "./support/Project.ts"

let cwd = ""

const settings = `, knowledge: {}, scheduleTargets: [(await import("@detent/durable/promise")).scheduleTarget(
  "close",
  { start: ({ id }) => ({ _tag: "Instance", machine: "lamp", id, input: { pin: "4711" } }) },
)], workflows: [(await import("@detent/durable/promise")).workflow(
  { name: "trip", input: {}, events: { confirmed: Schema.Struct({ by: Schema.String }) } },
  async (_, durable) => (await durable.waitForEvent("confirmed")).by,
)]`

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "agent")
  await project(cwd, lampConfig("Schema.Int", settings))
  await copyFewDocuments(join(cwd, "corpus"), ["ada-sol.txt", "books.json", "newsletter.txt"])
  await detent(["instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}'], { cwd })
})

/** A client that speaks the protocol, a line for each message. */
class Client {
  readonly running: Running
  #id = 0

  constructor(...options: ReadonlyArray<string>) {
    this.running = start(["mcp", ...options], { cwd })
  }

  async request(method: string, params: unknown) {
    const id = ++this.#id
    this.running.type(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
    await this.running.until(new RegExp(`^\\{"jsonrpc":"2.0","id":${id},.*\\n`, "m"))
    const line = this.running.out.split("\n").find((one) => one.startsWith(`{"jsonrpc":"2.0","id":${id},`)) ?? ""
    return JSON.parse(line)
  }

  async initialize() {
    const clientInfo = { name: "test", version: "1" }
    const { result } = await this.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
    this.running.type(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`)
    return result
  }

  async call(name: string, parameters: unknown) {
    return this.request("tools/call", { name, arguments: parameters })
  }

  async close() {
    this.running.process.stdin?.end()
    return this.running.ended
  }
}

describe("detent mcp", () => {
  it("lets an agent only read, unless a role says otherwise", async () => {
    const client = new Client()
    const { serverInfo, protocolVersion, capabilities, instructions } = await client.initialize()
    assert.notInclude(instructions, "act with")
    assert.strictEqual(serverInfo.name, "detent")
    assert.strictEqual(protocolVersion, "2025-06-18")
    assert.property(capabilities, "tools")

    const { result: listed } = await client.request("tools/list", {})
    const tools: ReadonlyArray<{ readonly name: string; readonly annotations: { readonly readOnlyHint: boolean } }> = listed.tools
    const names = tools.map(({ name }) => name).sort()
    assert.deepStrictEqual(names, [
      "around_entity",
      "ask_graph",
      "backfill_schedule",
      "change_schedule",
      "check_machines",
      "decide_identity",
      "decide_review",
      "define_schedule",
      "estimate_batch",
      "facts_of",
      "find_entities",
      "interrupt_execution",
      "label_instance",
      "limit_queue",
      "list_commands",
      "list_executions",
      "list_instances",
      "list_machines",
      "list_queues",
      "list_review",
      "list_schedules",
      "preview_event",
      "preview_mapping",
      "query_graph",
      "read_audit_log",
      "read_execution",
      "read_history",
      "read_instance",
      "read_schedule",
      "read_text",
      "read_vocabulary",
      "remove_schedule",
      "resume_execution",
      "retry_command",
      "send_event",
      "send_execution_event",
      "start_batch",
      "start_execution",
      "start_instance",
      "undo_identity",
      "watch_batch",
      "watch_instance",
    ])
    assert.deepStrictEqual(
      tools
        .filter(({ annotations }) => !annotations.readOnlyHint)
        .map(({ name }) => name)
        .sort(),
      [
        "backfill_schedule",
        "change_schedule",
        "decide_identity",
        "decide_review",
        "define_schedule",
        "interrupt_execution",
        "label_instance",
        "limit_queue",
        "remove_schedule",
        "resume_execution",
        "retry_command",
        "send_event",
        "send_execution_event",
        "start_batch",
        "start_execution",
        "start_instance",
        "undo_identity",
      ],
    )

    const { result: machines } = await client.call("list_machines", {})
    assert.include(JSON.stringify(machines.structuredContent), '"lamp"')
    const { result: checked } = await client.call("check_machines", { machine: "lamp" })
    assert.deepInclude(checked.structuredContent.reports[0], { machine: "lamp", differs: 0, held: 0 })
    const { result: instance } = await client.call("read_instance", { instance: "hall" })
    assert.deepInclude(instance.structuredContent.instance, { machine: "lamp", accepts: ["Switch"] })
    assert.notInclude(JSON.stringify(instance), "pin-4711")

    const { result: sending } = await client.call("send_event", { instance: "hall", event: "Switch", fields: { level: 1 } })
    assert.isTrue(sending.isError)
    assert.include(sending.content[0].text, "--role operate")
    const { result: starting } = await client.call("start_batch", { source: "corpus" })
    assert.isTrue(starting.isError)

    const { result: missing } = await client.call("read_history", { instance: "cellar" })
    assert.isTrue(missing.isError)
    assert.include(missing.content[0].text, "there is no instance cellar")
    const { error: wrong } = await client.call("read_history", { instance: 7 })
    assert.strictEqual(wrong.code, -32602)
    for (const [tool, given, known] of [
      ["read_history", { instance: "hall", afer: 3 }, "This argument is not known; use one of instance, after, limit"],
      ["retry_command", { command: "lamp/hall/1/0", dry_run: true }, "use one of command, force, dryRun, key"],
      ["query_graph", { sparql: "ASK {}", graph: "coast" }, "use one of sparql, namespace"],
    ] as const) {
      const { error: misspelt } = await client.call(tool, given)
      assert.strictEqual(misspelt.code, -32602)
      assert.include(misspelt.message, known)
    }
    const { error: noTool } = await client.call("drop_tables", {})
    assert.strictEqual(noTool.code, -32602)
    const { result: graphless } = await client.call("query_graph", { sparql: "ASK {}" })
    assert.include(graphless.content[0].text, "detent batch run")
    assert.strictEqual((await client.close()).code, 0)
  })

  it("answers a line that is not a message, passes over a blank one, and continues", async () => {
    const client = new Client()
    await client.initialize()
    client.running.type("\n  \r\nhello there\n")
    await client.running.until('"code":-32700')
    client.running.type("null\n")
    await client.running.until('"code":-32600')
    const { result } = await client.request("tools/list", {})
    assert.strictEqual(result.tools.length, 42)
    assert.strictEqual((await client.close()).code, 0)
  })

  it("refuses a folder that is not there, and does not make it", async () => {
    for (const role of ["read", "operate"]) {
      const { code, err, out } = await detent(["mcp", "--role", role, "--data", "nowhere"], { cwd })
      assert.strictEqual(code, 3, err)
      assert.include(err, "nowhere")
      assert.strictEqual(out, "")
      assert.isFalse(existsSync(join(cwd, "nowhere")))
    }
  })

  it("names all its tools in its help", async () => {
    const { out } = await detent(["mcp", "--help"], { cwd })
    const client = new Client("--role", "operate")
    await client.initialize()
    const { result } = await client.request("tools/list", {})
    const listed = result.tools.map(({ name }: { readonly name: string }) => name)
    assert.sameMembers([...new Set(out.match(/\b[a-z]+(?:_[a-z]+)+\b/g))], listed)
    assert.strictEqual((await client.close()).code, 0)
  })

  it("lets an agent that may operate send legal events, start a batch, watch it, and ask the graph", async () => {
    const client = new Client("--role", "operate")
    await client.initialize()
    const event = { instance: "hall", event: "Switch", fields: { level: 5 }, key: "agent-1" }
    for (const time of [1, 2]) {
      const { result } = await client.call("send_event", event)
      assert.deepInclude(result.structuredContent.instance, { sequence: 1, status: "running" }, `time ${time}`)
    }
    for (const [other, problem] of [
      [{ event: "Rest", fields: {} }, "key agent-1 of lamp/hall belongs to event 1, Switch; nothing was sent"],
      [{ fields: { level: 6 } }, "Switch with other fields; nothing was sent"],
    ] as const) {
      const { result: taken } = await client.call("send_event", { ...event, ...other })
      assert.isTrue(taken.isError)
      assert.include(taken.content[0].text, problem)
    }
    const { result: illegal } = await client.call("send_event", { ...event, key: "agent-2" })
    assert.isTrue(illegal.isError)
    assert.include(illegal.content[0].text, "it accepts Rest")
    const { result: history } = await client.call("read_history", { instance: "lamp/hall" })
    assert.deepInclude(history.structuredContent.entries[0], { from: "Off", dedupeId: "agent-1" })
    const { result: paged } = await client.call("read_history", { instance: "lamp/hall", after: 0, limit: 1 })
    assert.deepStrictEqual(
      [paged.structuredContent.entries.length, paged.structuredContent.next],
      [1, history.structuredContent.entries.length > 1 ? 1 : undefined],
    )

    const { result: begun } = await client.call("start_instance", {
      machine: "lamp",
      id: "attic",
      fields: { pin: "pin-4711" },
      key: "agent-3",
    })
    assert.deepStrictEqual(begun.structuredContent.instance, { machine: "lamp", id: "attic", state: { _tag: "Off", pin: "•••" } })
    const { result: empty } = await client.call("start_instance", { machine: "lamp", id: "shed" })
    assert.isTrue(empty.isError)
    assert.notInclude(empty.content[0].text, "--with")
    const { result: followed } = await client.call("watch_instance", { instance: "hall", after: 0, seconds: 5 })
    assert.strictEqual(followed.structuredContent.entries[0].event._tag, "Switch")
    const { result: noWorkflow } = await client.call("start_execution", { workflow: "nightly", payload: {} })
    assert.include(noWorkflow.content[0].text, "there is no workflow nightly")

    const trip = { workflow: "trip", id: "one" }
    await client.call("start_execution", { ...trip, payload: {} })
    const confirmed = { ...trip, event: "confirmed", value: { by: "ada" }, key: "agent-4" }
    for (const _ of [1, 2]) {
      const { result: sent } = await client.call("send_execution_event", confirmed)
      assert.deepInclude(sent.structuredContent.execution, trip)
    }
    const { result: otherValue } = await client.call("send_execution_event", { ...confirmed, value: { by: "bo" } })
    assert.include(otherValue.content[0].text, "key agent-4 belongs to a request with other content")
    const { result: misspelt } = await client.call("send_execution_event", { ...confirmed, event: "confirmd", key: "agent-5" })
    assert.include(misspelt.content[0].text, "did you mean confirmed?")

    const { result: undeclared } = await client.call("define_schedule", { schedule: "nightly", target: "report", every: "1 hour" })
    assert.include(undeclared.content[0].text, "there is no target report; declare it with scheduleTarget; the declared targets are: close")
    const hourly = { schedule: "hourly", target: "close", every: "1 hour" }
    const { result: defined } = await client.call("define_schedule", hourly)
    assert.deepInclude(defined.structuredContent.schedule, { everyMillis: 3_600_000, status: "active" })
    const { result: pausing } = await client.call("change_schedule", { schedule: "hourly", change: "pause", key: "agent-6" })
    assert.deepInclude(pausing.structuredContent.schedule, { status: "paused", next: [] })
    const { result: schedules } = await client.call("list_schedules", {})
    assert.deepStrictEqual(schedules.structuredContent.targets, ["close"])
    const to = Date.now()
    const { result: filled } = await client.call("backfill_schedule", { schedule: "hourly", from: to - 2 * 3_600_000 + 1, to })
    assert.deepStrictEqual(filled.structuredContent, { count: 2 })
    await client.call("remove_schedule", { schedule: "hourly" })
    const { result: removed } = await client.call("read_schedule", { schedule: "hourly" })
    assert.include(removed.content[0].text, "there is no schedule hourly")

    const { result: missing } = await client.call("start_batch", { source: "nowhere" })
    assert.isTrue(missing.isError)
    const { result: bare } = await client.call("start_batch", { source: join(cwd, "corpus", "documents") })
    assert.include(bare.content[0].text, "`ontology`")
    assert.notInclude(bare.content[0].text, "--")
    const { result: estimated } = await client.call("estimate_batch", { source: join(cwd, "corpus"), extractor: "openai:gpt-5-mini" })
    assert.deepInclude(estimated.structuredContent.estimate, { extractor: "openai:gpt-5-mini", currency: "USD" })
    assert.isAbove(estimated.structuredContent.estimate.calls, 0)
    const { result: unknown } = await client.call("estimate_batch", { source: join(cwd, "corpus"), extractor: "openai" })
    assert.include(unknown.content[0].text, "`extractor` openai cannot be used")
    const { result: unpaid } = await client.call("start_batch", { source: join(cwd, "corpus"), budget: "much" })
    assert.include(unpaid.content[0].text, "`budget` much cannot be used")
    const start = { source: join(cwd, "corpus"), extractor: "built-in", budget: "5usd", key: "agent-batch" }
    const { result: started } = await client.call("start_batch", start)
    const { batchId } = started.structuredContent.batch
    assert.deepInclude(started.structuredContent.batch, { extractor: "built-in", budget: "5usd" })
    const { result: again } = await client.call("start_batch", start)
    assert.strictEqual(again.structuredContent.batch.batchId, batchId)
    const { result: watched } = await client.call("watch_batch", { batch: batchId, seconds: 60 })
    assert.deepInclude(watched.structuredContent.batch, { state: "Completed", percent: 100 })
    const { result: unnamed } = await client.call("watch_batch", { batch: "monday" })
    assert.isTrue(unnamed.isError)
    assert.strictEqual(unnamed.content[0].text, "monday is not an id of a batch; it looks like batch-3f9c2a71b0d4; see `detent batch list`")
    const { result: asked } = await client.call("query_graph", {
      sparql: 'ASK { ?x <http://www.w3.org/2000/01/rdf-schema#label> "Harbour Lights" }',
    })
    assert.isTrue(JSON.parse(asked.structuredContent.body).boolean)
    const { result: answer } = await client.call("ask_graph", { question: "Who runs Harbour Lights?", limit: 3 })
    const [bearing] = answer.structuredContent.facts
    assert.isTrue(JSON.stringify(bearing).includes("Harbour Lights"))
    const { result: named } = await client.call("find_entities", { search: "harbour lights" })
    const [harbour] = named.structuredContent.entities
    assert.strictEqual(harbour.label, "Harbour Lights")
    const { result: stated } = await client.call("facts_of", { entity: harbour.iri, limit: 1 })
    const [fact] = stated.structuredContent.facts
    const { result: around } = await client.call("around_entity", { entity: harbour.iri })
    assert.isTrue(around.structuredContent.neighbourhood.nodes.length > 1)
    const { result: words } = await client.call("read_text", { document: fact.documentId, start: fact.start, end: fact.end })
    assert.include(words.structuredContent.text.text, fact.quote)
    const { result: terms } = await client.call("read_vocabulary", {})
    assert.isTrue(terms.structuredContent.vocabulary.properties.length > 1)
    const { result: review } = await client.call("list_review", { batch: batchId, limit: 1 })
    const [unsure] = review.structuredContent.facts
    assert.isString(review.structuredContent.next)
    const { result: decided } = await client.call("decide_review", {
      batch: batchId,
      decision: "reject",
      facts: [unsure.factId],
      by: "agent",
    })
    assert.deepInclude(decided.structuredContent.outcome, { decided: 1, refused: [] })
    const { result: rejected } = await client.call("list_review", { batch: batchId, status: "rejected" })
    assert.deepInclude(rejected.structuredContent.facts[0], { factId: unsure.factId, decidedBy: "agent" })
    const labelled = "SELECT DISTINCT ?x WHERE { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?label } ORDER BY ?x LIMIT 2"
    const { result: two } = await client.call("query_graph", { sparql: labelled })
    const entities = JSON.parse(two.structuredContent.body).results.bindings.map(({ x }: { x: { value: string } }) => x.value)
    const { result: apart } = await client.call("decide_identity", { decision: "different", entities, reason: "two of one name" })
    assert.deepInclude(apart.structuredContent.decision, { kind: "different", entities, state: "applied", reason: "two of one name" })
    const { result: undone } = await client.call("undo_identity", { decision: apart.structuredContent.decision.id, by: "agent" })
    assert.deepInclude(undone.structuredContent.decision, { state: "undone", undoneBy: "agent" })
    const { result: listed } = await client.call("list_instances", { machine: "batch", limit: 1 })
    assert.deepInclude(listed.structuredContent.instances[0], { id: batchId, state: "Completed" })
    assert.strictEqual((await client.close()).code, 0)
  })
})

describe("dead letters for agents", () => {
  it("are listed; a dry run says what a retry would do, and only the role operate retries them", async () => {
    await detent(["instance", "start", "lamp", "bill", "--with", '{"pin":"pin-4711"}'], { cwd })
    await detent(["instance", "send", "bill", "Switch", "--with", '{"level":1}'], { cwd })
    await detent(["worker", "--until-idle"], { cwd })
    const reading = new Client()
    await reading.initialize()
    const { result: listed } = await reading.call("list_commands", { status: "failed", instance: "bill" })
    const [dead] = listed.structuredContent.commands
    assert.deepInclude(dead, { slot: "sendBill", machine: "lamp", id: "bill" })
    const { result: dry } = await reading.call("retry_command", { command: dead.key, dryRun: true })
    assert.deepInclude(dry.structuredContent, { dryRun: true })
    assert.deepInclude(dry.structuredContent.command, { key: dead.key, status: "failed" })
    const { result: none } = await reading.call("retry_command", { command: "lamp/none/1/0", dryRun: true })
    assert.include(none.content[0].text, "there is no command lamp/none/1/0")
    const { result: refused } = await reading.call("retry_command", { command: dead.key })
    assert.include(refused.content[0].text, "--role operate")
    await reading.close()

    const operating = new Client("--role", "operate")
    await operating.initialize()
    for (const _ of [1, 2]) {
      const { result: retried } = await operating.call("retry_command", { command: dead.key, key: "again" })
      assert.deepInclude(retried.structuredContent.command, { key: dead.key, round: 1 })
    }
    await operating.close()
  })
})
