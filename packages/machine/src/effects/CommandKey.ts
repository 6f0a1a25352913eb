/** The idempotency key of a requested effect: whose it is, which event asked for it, and which of several it is. */

export const commandKey = (machine: string, id: string, sequence: number, index: number): string =>
  `${isUnambiguous(machine) ? machine : encodeURIComponent(machine)}/${id}/${sequence}/${index}`

/** Without a slash in its name no machine can have the keys of another. */
const isUnambiguous = (machine: string): boolean => !machine.includes("/") && !machine.includes("%")
