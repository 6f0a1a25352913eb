/**
 * The file of measurements, from which the site is generated. `npm run bench -- --record` merges every measured part into it, so a part
 * that was not measured keeps its older figures, with their date.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { arch, cpus, loadavg, platform, totalmem } from "node:os"
import { join } from "node:path"

/**
 * @typedef {{ readonly title: string, readonly columns: ReadonlyArray<string>, readonly rows: ReadonlyArray<ReadonlyArray<string>>, readonly notes?: ReadonlyArray<string> }} Table
 * @typedef {{ readonly key: string, readonly about: string, readonly atLeast?: number, readonly atMost?: number }} Goal
 * @typedef {{ readonly cpu: string, readonly cores: number, readonly memoryGb: number, readonly system: string, readonly node: string, readonly load: number }} MachineDescription
 * @typedef {{
 *   readonly date: string
 *   readonly quick: boolean
 *   readonly machine: MachineDescription
 *   readonly tables: ReadonlyArray<Table>
 *   readonly figures: Readonly<Record<string, number>>
 *   readonly goals: ReadonlyArray<Goal>
 * }} RecordedPart
 * @typedef {Readonly<Record<string, Readonly<Record<string, RecordedPart>>>>} Recording parts by group and name
 */

export const recordingFile = join(import.meta.dirname, "..", "docs", "benchmarks.json")

/** @returns {Recording} */
export function readRecording(file = recordingFile) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}
}

/**
 * Stores one part as soon as it is measured, so that an interrupted run keeps its results.
 *
 * @param {string} group
 * @param {string} name
 * @param {RecordedPart} part
 */
export function recordPart(group, name, part, file = recordingFile) {
  writeFileSync(file, `${JSON.stringify(merged(readRecording(file), group, name, part), null, 1)}\n`)
}

/**
 * @param {Recording} recording
 * @param {string} group
 * @param {string} name
 * @param {RecordedPart} part
 * @returns {Recording}
 */
export function merged(recording, group, name, part) {
  return { ...recording, [group]: { ...recording[group], [name]: part } }
}

/**
 * Describes the machine, so that a reader can judge the figures. Contains no host and no user name.
 *
 * @returns {MachineDescription}
 */
export function describeMachine() {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() || "unknown",
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    node: process.versions.node,
    // A load above the number of cores means that other programs used the machine.
    load: Math.round(loadavg()[0] ?? 0),
  }
}
