import type { Group } from "../../measure/Group.ts"
import { commands } from "./commands.ts"
import { events } from "./events.ts"
import { flow } from "./flow.ts"
import { memory } from "./memory.ts"
import { oracle } from "./oracle.ts"
import { promise } from "./promise.ts"
import { recovery } from "./recovery.ts"
import { replay } from "./replay.ts"
import { search } from "./search.ts"
import { single } from "./single.ts"
import { timers } from "./timers.ts"
import { transitions } from "./transitions.ts"
import { workflow } from "./workflow.ts"

const group: Group = {
  parts: { transitions, single, promise, timers, recovery, replay, memory, commands, flow, events, workflow, oracle, search },
  goals: [
    { key: "transitions.pg.vsDbos", atLeast: 12, about: "transitions on PostgreSQL, 50 instances, against DBOS's steps" },
    { key: "transitions.pg.vsRawAppend", atLeast: 1.3, about: "the same, against raw appends of event and state on 32 connections" },
    { key: "transitions.pg.nodeCpuUs", atMost: 40, about: "node CPU per transition, µs" },
    { key: "transitions.pg.postgresCpuUs", atMost: 25, about: "PostgreSQL CPU per transition, µs" },
    { key: "transitions.pg.walBytes", atMost: 1000, about: "write-ahead log per transition, bytes" },
    { key: "transitions.pg.syncs", atMost: 0.1, about: "syncs per transition" },
    { key: "transitions.sqlite.vsEffect", atLeast: 35, about: "transitions on SQLite FULL, against activities of Effect workflows" },
    { key: "single.pg.vsRaw", atLeast: 0.5, about: "one instance on PostgreSQL, against raw appends on one connection" },
    {
      key: "timersP99.vsGraphile",
      atMost: 1 / 3,
      about: "p99 lateness of timers until their code is called, of graphile-worker's; the worse of 1,000 and 20,000",
    },
    { key: "timersP99.vsPgBoss", atMost: 1 / 3, about: "the same, of pg-boss's" },
    { key: "timers.wrong", atMost: 0, about: "timers that fired early, twice or never" },
    { key: "recovery.lost", atMost: 0, about: "events acknowledged and lost by kill -9" },
    { key: "recovery.speedVsDbos", atLeast: 5, about: "time from the restart to the end, faster than DBOS by" },
    { key: "recovery.secondVsFirstHalf", atMost: 1.1, about: "time of the half after the kill, of the half before" },
    { key: "recovery.firstProgressMillis", atMost: 300, about: "from the engine's start to the first event stored, ms" },
    { key: "replay.eventsPerSecond", atLeast: 200_000, about: "replay of a journal of 100,000 events on PostgreSQL" },
    { key: "snapshotOpen.speedup", atLeast: 100, about: "opening that instance with a snapshot, faster by" },
    { key: "instance.heapBytes", atMost: 2000, about: "heap of a live instance with a timer, beyond its state" },
    { key: "instance.transitionsPerSecond", atLeast: 25_000, about: "transitions across 10,000 live instances on PostgreSQL" },
    { key: "enqueue.vsPgBoss", atLeast: 7, about: "commands enqueued by 16 callers, against pg-boss" },
    { key: "enqueue.vsGraphile", atLeast: 7, about: "the same, against graphile-worker" },
    { key: "enqueue.vsEffectQueue", atLeast: 1.5, about: "the same, against Effect's PersistedQueue" },
    { key: "complete.vsGraphile", atLeast: 1.15, about: "commands of a backlog executed, against graphile-worker" },
    { key: "completeCpu.vsGraphile", atMost: 1, about: "CPU per command, node and PostgreSQL, of graphile-worker's" },
    { key: "latencyP50.vsGraphile", atMost: 1, about: "median from enqueue to start, of graphile-worker's" },
    { key: "latencyP99.vsGraphile", atMost: 1, about: "p99 of the same" },
    { key: "flow.noGroups.vsBefore", atMost: 1.05, about: "PostgreSQL CPU of a claim without groups, of one that knows no groups" },
    { key: "flow.groups.pgCpuRatio", atMost: 1.5, about: "PostgreSQL CPU of a command with 10,000 groups, of one without groups" },
    {
      key: "flow.fair.smallP99Ratio",
      atMost: 3,
      about: "p99 until a command of 100 small groups starts beside a group of 1,000,000, of an empty queue's",
    },
    { key: "events.sqlite.vsEffect", atLeast: 3, about: "domain events on SQLite FULL, against the journal that comes with Effect" },
    { key: "events.sqlite.logVsEffect", atLeast: 3, about: "the same through a log whose handler fills a table" },
    {
      key: "workflow.pg.vsEffect",
      atLeast: 10,
      about: "Effect workflows on PostgreSQL, 10 activities, 50 at once, against Effect's engine",
    },
    { key: "workflow.pg.vsDbos", atLeast: 8, about: "the same, against DBOS with 10 steps" },
    { key: "workflow.sqlite.vsEffect", atLeast: 10, about: "the same on SQLite FULL, against Effect's engine" },
    { key: "oracle.instancesPerSecond", atLeast: 8334, about: "stored instances judged by other code, a second: 1,000,000 in two minutes" },
    { key: "oracle.mutantsFound", atLeast: 0.99, about: "harmful mutants of five machines that the oracle finds" },
    { key: "oracle.falseAlarms", atMost: 0, about: "changes of words alone that it reports" },
    {
      key: "search.pageMsAt1M",
      atMost: 10,
      about: "a page found by indexed fields among 1,000,000 instances on PostgreSQL, the slowest kind, ms",
    },
    { key: "search.sqlitePageMsAt1M", atMost: 10, about: "the same on SQLite" },
    { key: "workflow.sleepingBytes", atMost: 300, about: "heap of a workflow that sleeps on a durable clock, bytes" },
  ],
}

export default group
