/** A machine the engine knows: its tables, its codec, and the services its work runs with. */
import type { Persistence, SnapshotPolicy } from "@detent/machine"
import type { Compiled, Environment } from "@detent/machine/internal"
import { Codec } from "../instance/Codec.ts"
import type { Upcasters } from "../instance/Upcasters.ts"
import type { CommandRecord } from "../store/Commit.ts"

/** How often the state is saved beside the journal where a machine does not say: a replay of 100 events takes under a millisecond. */
const defaultSnapshots: SnapshotPolicy<string> = { _tag: "EveryN", transitions: 100 }

type CommandPlace = Pick<CommandRecord, "queue" | "priority" | "ordered">

const anyPlace: CommandPlace = {}

export class RegisteredMachine {
  /** As it was given. */
  readonly machine: unknown
  readonly compiled: Compiled
  readonly codec: Codec
  readonly upcasters: Upcasters
  readonly environment: Environment
  readonly snapshots: SnapshotPolicy<string>
  readonly keepJournal: boolean

  constructor(machine: unknown, compiled: Compiled, upcasters: Upcasters, environment: Environment) {
    this.machine = machine
    this.compiled = compiled
    this.upcasters = upcasters
    this.codec = new Codec(this.compiled, upcasters)
    this.environment = environment
    const persistence: Persistence<string> = this.compiled.declarations.persistence ?? {}
    this.snapshots = persistence.snapshot ?? defaultSnapshots
    this.keepJournal = persistence.keepJournal ?? true
  }

  /** Where the commands of a slot wait, as far as the machine says. */
  placeOf(slot: string): CommandPlace {
    const settings = this.compiled.declarations.commands?.[slot]
    if (settings === undefined) return anyPlace
    const { queue, priority, ordered } = settings
    return {
      ...(queue === undefined ? {} : { queue }),
      ...(priority === undefined ? {} : { priority }),
      ...(ordered === undefined ? {} : { ordered }),
    }
  }

  get name(): string {
    return this.compiled.name
  }

  get version(): number {
    return this.compiled.declarations.version
  }
}
