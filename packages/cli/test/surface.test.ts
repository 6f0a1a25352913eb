/**
 * The API and the command line can do the same. Every request of the OpenAPI document has a command, and every parameter of it an
 * argument or option of that command; every command has a request. The exceptions are named here, each with its reason: a request or
 * a parameter that is added on one side alone fails this test.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import type { Command } from "../src/line/Command.ts"
import { commands as declared } from "../src/line/table.mjs"

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const api: OpenApi = JSON.parse(readFileSync(join(import.meta.dirname, "../../api/openapi.json"), "utf8"))

interface Offered {
  /** The command that does it. */
  readonly command: string
  /** What parameters of the request are called on the command line, where that is not their own name: options, arguments, a reason. */
  readonly names?: Readonly<Record<string, string>>
}

/** In the body of a filter, the conditions. */
const isFilter = (name: string) => name === "filter"

const events = { "last-event-id": "after" }

const changed = { updatedAfter: "since", updatedBefore: "until" }

const requested = { id: "instance", enqueuedAfter: "since", enqueuedBefore: "until" }

/** A batch is started from files. Their manifest is made of the options. */
const manifest = { config: "concurrency", folder: "source", manifest: "source", manifestUri: "source", mappingText: "mapping" }

const review = { batchId: "batch", facts: "fact" }

/** Which command does what a request does. */
const offered: Readonly<Record<string, Offered>> = {
  "machines.list": { command: "machine list" },
  "machines.get": { command: "machine show" },
  "machines.check": { command: "machine check" },
  "machines.layout": { command: "machine diagram" },
  "machines.diagram": { command: "machine diagram" },
  "instances.list": { command: "instance list", names: changed },
  "instances.bulk": { command: "instance bulk", names: changed },
  "instances.start": { command: "instance start", names: { input: "with" } },
  "instances.purge": { command: "instance purge", names: { endedBeforeMillis: "ended-before" } },
  "instances.get": { command: "instance show", names: { machine: "instance", id: "instance" } },
  "instances.history": { command: "instance history", names: { machine: "instance", id: "instance" } },
  "instances.stateAt": { command: "instance show", names: { machine: "instance", id: "instance", sequence: "at" } },
  "instances.legalEvents": { command: "instance show", names: { machine: "instance", id: "instance" } },
  "instances.send": { command: "instance send", names: { machine: "instance", id: "instance", _tag: "event" } },
  "instances.events": { command: "instance watch", names: { machine: "instance", id: "instance", ...events } },
  "instances.repair": { command: "instance repair", names: { machine: "instance", id: "instance" } },
  "instances.fork": { command: "instance fork", names: { machine: "instance", sequence: "through" } },
  "instances.commands": { command: "command list", names: { machine: "instance", id: "instance" } },
  "instances.timers": { command: "instance show", names: { machine: "instance", id: "instance" } },
  "instances.label": { command: "instance label", names: { machine: "instance", id: "instance", payload: "labels" } },
  "instances.fireTimer": { command: "instance fire", names: { machine: "instance", id: "instance", name: "timer" } },
  "executions.list": { command: "execution list" },
  "executions.start": { command: "execution start", names: { payload: "with" } },
  "executions.get": { command: "execution show", names: { workflow: "execution", id: "execution" } },
  "executions.history": { command: "execution show", names: { workflow: "execution", id: "execution" } },
  "executions.send": { command: "execution send", names: { workflow: "execution", id: "execution", value: "with" } },
  "executions.events": { command: "instance watch", names: { workflow: "instance", id: "instance", ...events } },
  "executions.spans": { command: "execution spans", names: { workflow: "execution", id: "execution" } },
  "executions.resume": { command: "execution resume", names: { workflow: "execution", id: "execution" } },
  "executions.interrupt": { command: "execution interrupt", names: { workflow: "execution", id: "execution" } },
  "commands.list": { command: "command list", names: requested },
  "commands.groups": { command: "command groups", names: requested },
  "commands.skipAll": { command: "command skip", names: requested },
  "commands.retryAll": { command: "command retry", names: requested },
  "commands.retry": { command: "command retry", names: { key: "command" } },
  "commands.checkRetry": { command: "command retry", names: { key: "command" } },
  "commands.forceRetry": { command: "command retry", names: { key: "command" } },
  "commands.skip": { command: "command skip", names: { key: "command" } },
  "commands.get": { command: "command show", names: { key: "command" } },
  "commands.queues": { command: "queue list" },
  "commands.queueGroups": { command: "queue groups" },
  "commands.limit": { command: "queue limit", names: { perGroup: "per-group-concurrency" } },
  "commands.limitGroup": { command: "queue limit" },
  "commands.pause": { command: "queue pause" },
  "commands.resume": { command: "queue resume" },
  "commands.deadTimers": { command: "timer list" },
  // An instance has one dead timer of a name at most times; the command takes the first.
  "commands.reviveTimer": {
    command: "timer revive",
    names: { machine: "instance", id: "instance", name: "timer", entry: "timer", due: "timer" },
  },
  "access.listTokens": { command: "token list" },
  "access.createToken": { command: "token create", names: { machines: "machine", events: "event", expiresIn: "expires" } },
  "access.rotateToken": { command: "token rotate" },
  "access.revokeToken": { command: "token revoke" },
  "access.audit": { command: "audit list" },
  "schedules.list": { command: "schedule list" },
  "schedules.get": { command: "schedule show", names: { name: "schedule" } },
  "schedules.define": { command: "schedule create", names: { input: "with" } },
  "schedules.pause": { command: "schedule pause", names: { name: "schedule" } },
  "schedules.resume": { command: "schedule resume", names: { name: "schedule" } },
  "schedules.trigger": { command: "schedule trigger", names: { name: "schedule" } },
  "schedules.backfill": { command: "schedule backfill", names: { name: "schedule" } },
  "schedules.remove": { command: "schedule remove", names: { name: "schedule" } },
  "cluster.nodes": { command: "cluster status" },
  "cluster.drain": { command: "cluster drain" },
  "batches.start": { command: "batch run", names: manifest },
  "batches.list": { command: "batch list" },
  "batches.estimate": { command: "batch run", names: manifest },
  // A preview reads documents: it needs no configuration of the batch, and no key.
  "batches.previewMapping": { command: "batch map", names: { ...manifest, config: "records", "idempotency-key": "records" } },
  "batches.get": { command: "batch show", names: { batchId: "batch" } },
  "batches.cancel": { command: "batch cancel", names: { batchId: "batch" } },
  "batches.retry": { command: "batch retry", names: { batchId: "batch" } },
  "batches.resume": { command: "batch resume", names: { batchId: "batch" } },
  "batches.raiseBudget": { command: "batch resume", names: { batchId: "batch" } },
  "batches.withdraw": { command: "batch withdraw", names: { batchId: "batch" } },
  "batches.review": { command: "batch review", names: review },
  "batches.accept": { command: "batch review", names: review },
  "batches.reject": { command: "batch review", names: review },
  "batches.reopen": { command: "batch review", names: review },
  "batches.documents": { command: "batch show", names: { batchId: "batch", status: "documents" } },
  "batches.failures": { command: "batch show", names: { batchId: "batch" } },
  "batches.changes": { command: "graph diff", names: { batchId: "batch" } },
  "batches.artifacts": { command: "batch artifacts", names: { batchId: "batch" } },
  "batches.artifact": { command: "batch artifacts", names: { batchId: "batch", name: "artifact" } },
  // `batch watch` reads the state of now: it misses nothing of it.
  "batches.events": { command: "batch watch", names: { batchId: "batch", "last-event-id": "batch" } },
  "knowledge.graphs": { command: "graph stats" },
  // Of an older version, `graph versions` has the size.
  "knowledge.graph": { command: "graph stats", names: { version: "namespace" } },
  "knowledge.versions": { command: "graph versions" },
  "knowledge.diff": { command: "graph diff" },
  "knowledge.neighbourhood": { command: "graph neighbourhood" },
  "knowledge.facts": { command: "graph provenance", names: { subject: "entity" } },
  "knowledge.documentText": { command: "graph text", names: { documentId: "document" } },
  "knowledge.vocabulary": { command: "graph vocabulary" },
  "knowledge.entities": { command: "graph entities" },
  "knowledge.relations": { command: "graph relations" },
  "knowledge.provenance": { command: "graph provenance" },
  "knowledge.query": { command: "graph query", names: { query: "sparql" } },
  "knowledge.queryBody": { command: "graph query" },
  "knowledge.bearing": { command: "ask" },
  "knowledge.ask": { command: "ask" },
  "knowledge.export": { command: "graph export" },
  "knowledge.report": { command: "graph report" },
  "knowledge.identities": { command: "graph decisions" },
  // One command for each kind.
  "knowledge.decideIdentity": { command: "graph split", names: { kind: "entity", entities: "entity", documents: "document" } },
  "knowledge.undoIdentity": { command: "graph undo" },
  "uploads.send": { command: "upload run" },
  "uploads.preview": { command: "upload map", names: { isPart: "file" } },
  "uploads.mapping": { command: "upload mapping" },
  "uploads.keepMapping": { command: "upload mapping", names: { locale: "keep", fields: "keep", others: "keep" } },
  "uploads.forgetMapping": { command: "upload mapping" },
  "uploads.plan": { command: "upload run" },
  "uploads.list": { command: "upload list" },
  "uploads.get": { command: "upload show", names: { batchId: "upload" } },
  "uploads.events": { command: "upload watch", names: { batchId: "upload", "last-event-id": "upload" } },
  "uploads.items": { command: "upload show", names: { batchId: "upload", state: "items" } },
  "uploads.history": { command: "upload history", names: { batchId: "upload", index: "item" } },
  "uploads.correct": { command: "upload correct", names: { batchId: "upload", index: "item" } },
  "uploads.failures": { command: "upload failures", names: { batchId: "upload" } },
  "uploads.correctFrom": { command: "upload correct", names: { batchId: "upload", file: "from" } },
  "uploads.retry": { command: "upload retry", names: { batchId: "upload" } },
  "uploads.cancel": { command: "upload cancel", names: { batchId: "upload" } },
  "uploads.kinds": { command: "upload kinds" },
  "uploads.searchKind": { command: "upload search", names: { batchId: "upload" } },
  "uploads.itemOfKind": { command: "upload item" },
}

/** Requests about the process that answers them, or about the browser that sends them. */
const onlyRequests: Readonly<Record<string, string>> = {
  "activities.run": "what a job runner sends; `detent activity` runs the same as a process",
  "live.follow": "the stream of a page; `watch` of instances, batches and uploads follows one thing",
  "session.get": "of a browser",
  "session.open": "of a browser",
  "session.end": "of a browser",
  live: "whether this server runs",
  ready: "whether this server can work",
  metrics: "what this server counted",
  metricsHistory: "what this server counted",
}

/** Commands that make or are a process, or work on files of the machine they run on; and those that share the request of another. */
const onlyCommands: Readonly<Record<string, string>> = {
  "graph merge": "sends the request of `graph split`, with another kind",
  "graph different": "sends the request of `graph split`, with another kind",
  dev: "is a server",
  serve: "is a server",
  worker: "is a worker",
  activity: "is a worker for one stage",
  mcp: "is a server of tools",
  init: "makes a project",
  completions: "are for a shell",
  "data copy": "reads a database that no process works in",
  "data backup": "writes files of this machine",
  "audit export": "sends the request of `audit list` for each page",
  "data restore": "makes a workspace",
  "instance ask": "a question is an event: the request that sends it answers it",
}

const operations = Object.values(api.paths).flatMap((path) => Object.values(path))

const commands = new Map<string, Command>(declared.map((command) => [command.name, command]))

const wordsOf = ({ arguments: given, options }: Command): ReadonlySet<string> => new Set([...given, ...options].map(({ name }) => name))

const resolved = (schema: Schema): Schema => {
  const name = schema.$ref?.split("/").at(-1)
  return name === undefined ? schema : (api.components.schemas[name] ?? {})
}

const fieldsOf = (given: Schema): ReadonlyArray<string> => {
  const { properties = {}, anyOf = [], oneOf = [], allOf = [] } = resolved(given)
  const own = Object.entries(properties).flatMap(([name, schema]) => (isFilter(name) ? fieldsOf(schema) : [name]))
  return [...own, ...[...anyOf, ...oneOf, ...allOf].flatMap(fieldsOf)]
}

/** Everything that a request can say. */
const parametersOf = ({ parameters = [], requestBody }: Operation): ReadonlyArray<string> => [
  ...new Set([
    ...parameters.map(({ name }) => name),
    ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema)),
  ]),
]

const optionOf = (parameter: string): string => {
  if (parameter === "idempotency-key") return "key"
  return parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

describe("the API and the command line", () => {
  it("every request has a command, or a reason to have none", () => {
    const ids = operations.map(({ operationId }) => operationId)
    assert.deepStrictEqual(ids.toSorted(), [...Object.keys(offered), ...Object.keys(onlyRequests)].toSorted())
  })

  it("every command has a request, or a reason to have none", () => {
    const known = new Set([...Object.values(offered).map(({ command }) => command), ...Object.keys(onlyCommands)])
    assert.deepStrictEqual([...commands.keys()].toSorted(), [...known].toSorted())
  })

  it("every parameter of a request is an argument or an option of its command", () => {
    const missing = operations.flatMap((operation) => {
      const { command, names = {} } = offered[operation.operationId] ?? {}
      const found = commands.get(command ?? "")
      if (found === undefined) return []
      const words = wordsOf(found)
      return parametersOf(operation)
        .map((parameter) => names[parameter] ?? optionOf(parameter))
        .filter((word) => !words.has(word))
        .map((word) => `detent ${found.name} has no ${word}, which ${operation.operationId} takes`)
    })
    assert.deepStrictEqual(missing, [])
  })

  it("every request that changes something takes a key, and so does its command", () => {
    const changing = Object.values(api.paths).flatMap((path) =>
      Object.entries(path).flatMap(([method, operation]) => (method === "get" || method === "delete" ? [] : [operation])),
    )
    const unkeyed = changing.filter(({ operationId, parameters = [] }) => {
      const hasKey = parameters.some(({ name }) => name === "idempotency-key")
      return !["knowledge.queryBody", "uploads.preview"].includes(operationId) && !hasKey
    })
    assert.deepStrictEqual(
      unkeyed.map(({ operationId }) => operationId),
      [],
    )
  })
})
