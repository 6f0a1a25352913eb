/** The machines that are registered with an engine. */

import { DefinitionError, type Persistence, type SnapshotPolicy } from "@detent/machine"
import { type Compiled, compiledOf, type Environment, hasWork, type Node, type Tagged, unbuilt } from "@detent/machine/internal"
import type { CommandRecord, MachineVersions } from "@detent/store"
import type * as Duration from "effect/Duration"
import { Codec } from "./Codec.ts"
import { IndexedValues } from "./IndexedValues.ts"
import type { Upcasters } from "./Upcasters.ts"

/** Snapshots of a machine that declares no policy: a replay of 100 events takes under a millisecond. */
const defaultSnapshots: SnapshotPolicy<string> = { _tag: "EveryN", transitions: 100 }

type CommandPlace = Pick<CommandRecord, "queue" | "priority" | "ordered">

const anyPlace: CommandPlace = {}

/** A machine with its tables, its codec, and the services its work runs with. */
export class RegisteredMachine {
  /** The definition as it was given to `register`. */
  readonly definition: unknown
  readonly compiled: Compiled
  readonly codec: Codec
  readonly upcasters: Upcasters
  readonly environment: Environment
  readonly snapshots: SnapshotPolicy<string>
  readonly keepJournal: boolean
  /** Undefined where the machine has no indexed fields. */
  readonly indexes: IndexedValues | undefined
  /** How long ended instances are kept, by the definition. */
  readonly retention: Persistence<string>["retention"]
  /** Whether this process runs the work of its states. */
  readonly runsWork: boolean

  constructor(definition: unknown, compiled: Compiled, upcasters: Upcasters, environment: Environment, runsWork: boolean) {
    this.definition = definition
    this.compiled = compiled
    this.upcasters = upcasters
    this.codec = new Codec(this.compiled, upcasters)
    this.environment = environment
    const persistence: Persistence<string> = this.compiled.declarations.persistence ?? {}
    this.snapshots = persistence.snapshot ?? defaultSnapshots
    this.keepJournal = persistence.keepJournal ?? true
    const { indexes } = this.compiled.declarations
    this.indexes = indexes === undefined || indexes.size === 0 ? undefined : new IndexedValues([...indexes.values()])
    this.retention = persistence.retention
    this.runsWork = runsWork
  }

  get name(): string {
    return this.compiled.name
  }

  get version(): number {
    return this.compiled.declarations.version
  }

  /** Whether any state of the machine has work. */
  get mayHaveWork(): boolean {
    return mayHaveWork(this.compiled)
  }

  /** Whether an instance in this state has work that one node must run: work of the state, or of the whole machine. */
  hasWork(node: Node, state: Tagged): boolean {
    return this.compiled.declarations.backgrounds.length > 0 || hasWork(node, state)
  }

  /** The queue, priority and order that the machine declares for the commands of a slot. */
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
}

/** Whether any state of a machine, or the machine itself, has work. */
export const mayHaveWork = ({ declarations }: Compiled): boolean => declarations.backgrounds.length > 0 || declarations.works.length > 0

export class MachineRegistry {
  readonly #machines = new Map<string, RegisteredMachine>()
  /** Retention that was set apart from the definition. It stays when the definition is registered again. */
  readonly #kept = new Map<string, Duration.Input>()
  readonly #runsWork: (name: string) => boolean
  readonly #isInUse: (name: string) => boolean
  readonly #services: (environment: Environment) => Environment
  #listener: (() => void) | undefined

  /**
   * `services`: the services of the instances of a machine, from those of its registration. `runsWork`: whether this process runs the state
   * work of a machine. `isInUse`: whether instances of a machine are in memory.
   */
  constructor(
    services: (environment: Environment) => Environment,
    runsWork: (name: string) => boolean,
    isInUse: (name: string) => boolean,
  ) {
    this.#services = services
    this.#runsWork = runsWork
    this.#isInUse = isInUse
  }

  /** Without upcasters, those of an earlier registration stay in use. */
  register(definition: unknown, upcasters: Upcasters | undefined, environment: Environment): RegisteredMachine {
    const compiled = compiledOf(definition)
    if (compiled.openSlot !== undefined) throw unbuilt(compiled.name, compiled.openSlot)
    const known = this.#machines.get(compiled.name)
    if (known?.compiled === compiled && (upcasters === undefined || upcasters === known.upcasters)) return known
    if (known !== undefined && known.compiled !== compiled) this.#refuseAnother(known, compiled)
    const read = upcasters ?? known?.upcasters ?? compiled.declarations.upcasters ?? {}
    const registered = new RegisteredMachine(definition, compiled, read, this.#services(environment), this.#runsWork(compiled.name))
    this.#machines.set(registered.name, registered)
    if (known === undefined) this.#listener?.()
    return registered
  }

  /** A machine without instances in memory may be replaced by another version. Otherwise a name belongs to one definition. */
  #refuseAnother(known: RegisteredMachine, compiled: Compiled) {
    const isSame = fingerprint(known.compiled) === fingerprint(compiled)
    const isReplaced = known.version !== compiled.declarations.version && !this.#isInUse(known.name)
    if (isSame || isReplaced) return
    throw new DefinitionError({
      problem: `machine ${known.name} is registered with another definition`,
      nextStep: "give one of them another name, or a newer version that is registered before instances are used",
    })
  }

  /** Calls back when a machine is registered for the first time: its timers may have been due for a long time. */
  onAdded(listener: () => void) {
    this.#listener = listener
  }

  /** Keeps ended instances of a machine for this long, regardless of its definition. */
  keepEnded(name: string, retention: Duration.Input) {
    this.#kept.set(name, retention)
  }

  /** How long ended instances of a machine are kept; undefined: forever. */
  retentionOf({ name, retention }: RegisteredMachine): Duration.Input | undefined {
    return this.#kept.get(name) ?? retention
  }

  get(name: string): RegisteredMachine | undefined {
    return this.#machines.get(name)
  }

  get all(): ReadonlyArray<RegisteredMachine> {
    return [...this.#machines.values()]
  }

  get names(): ReadonlyArray<string> {
    return [...this.#machines.keys()]
  }

  /** The newest version of each machine that this process can read. It leaves instances of newer versions alone. */
  get versions(): MachineVersions {
    return Object.fromEntries(this.all.map(({ name, version }) => [name, version]))
  }
}

/**
 * A text that is the same for two definitions that differ only in their functions. A machine that is built twice is one machine;
 * two machines that share a name by accident are not.
 */
const fingerprint = ({ declarations }: Compiled): string => {
  const { state, event, transitions, fallbacks, timeouts, always, hooks, works, backgrounds, finals, guardSlots, effectSlots } =
    declarations
  const variants = (union: typeof state) => [...union.$variants.values()].map(({ tag, fieldNames }) => [tag, ...fieldNames])
  const tags = (targets: ReadonlyArray<{ readonly tag: string }>) => targets.map(({ tag }) => tag)
  const arrows = (declared: typeof transitions) =>
    [...declared].map(([pair, { kind, targets, guardName }]) => [pair, kind, guardName ?? "", tags(targets)])
  return JSON.stringify([
    variants(state),
    variants(event),
    arrows(transitions),
    arrows(fallbacks),
    [...timeouts.values()].map(({ from, name, idle, targets }) => [from, name, idle, tags(targets)]),
    always.map(({ from, targets }) => [from, tags(targets)]),
    hooks.map(({ phase, state: of }) => [phase, of]),
    works.map(({ state: of }) => of),
    backgrounds.length,
    [...finals],
    Object.keys(guardSlots),
    Object.keys(effectSlots),
  ])
}
