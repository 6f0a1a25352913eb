import type { Group } from "../../measure/Group.ts"
import { memory } from "./memory.ts"
import { recovery } from "./recovery.ts"
import { replay } from "./replay.ts"
import { single } from "./single.ts"
import { timers } from "./timers.ts"
import { transitions } from "./transitions.ts"

const group: Group = {
  parts: { transitions, single, timers, recovery, replay, memory },
  goals: [
    { key: "transitions.pg.vsDbos", atLeast: 12, about: "transitions on PostgreSQL, 50 instances, against DBOS's steps" },
    { key: "transitions.pg.vsRawAppend", atLeast: 1.3, about: "the same, against raw event+state appends on 32 connections" },
    { key: "transitions.pg.nodeCpuUs", atMost: 40, about: "node CPU of one, µs" },
    { key: "transitions.pg.postgresCpuUs", atMost: 25, about: "PostgreSQL CPU of one, µs" },
    { key: "transitions.pg.walBytes", atMost: 1000, about: "write-ahead log of one, bytes" },
    { key: "transitions.pg.syncs", atMost: 0.1, about: "syncs of one" },
    { key: "transitions.sqlite.vsEffect", atLeast: 35, about: "transitions on SQLite FULL, against activities of Effect workflows" },
    { key: "single.pg.vsRaw", atLeast: 0.5, about: "one instance on PostgreSQL, against raw appends on one connection" },
    { key: "timersP99.vsGraphile", atMost: 1 / 3, about: "p99 lateness of timers, of graphile-worker's; the worse of 1,000 and 20,000" },
    { key: "timersP99.vsPgBoss", atMost: 1 / 3, about: "the same, of pg-boss's" },
    { key: "timers.wrong", atMost: 0, about: "timers that fired early, twice or never" },
    { key: "recovery.lost", atMost: 0, about: "events told as stored and lost by kill -9" },
    { key: "recovery.speedVsDbos", atLeast: 5, about: "from the restart to the end, sooner than DBOS" },
    { key: "recovery.secondVsFirstHalf", atMost: 1.1, about: "the half after the kill, of the time of the one before" },
    { key: "recovery.firstProgressMillis", atMost: 300, about: "from the engine's start to the first event stored, ms" },
    { key: "replay.eventsPerSecond", atLeast: 200_000, about: "replay of a journal of 100,000 events on PostgreSQL" },
    { key: "snapshotOpen.speedup", atLeast: 100, about: "opening it with a snapshot, sooner by" },
    { key: "instance.heapBytes", atMost: 2000, about: "heap of a live instance with a timer, beyond its state" },
    { key: "instance.transitionsPerSecond", atLeast: 25_000, about: "transitions across 10,000 live instances on PostgreSQL" },
  ],
}

export default group
