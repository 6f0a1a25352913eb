/** The names of the commands that a chart requests, and the ids of the instances that belong to it. */
export const slots = {
  /** A promise that is invoked or spawned. */
  invoke: (src: string): string => `invoke ${src}`,
  /** A child machine becomes an instance. */
  start: "(start child)",
  /** An event to the parent or to a child machine. */
  send: "(send)",
  /** A child machine is stopped. */
  stop: "(stop child)",
  log: "(log)",
} as const

/** The suffix of a child's id. An actor that is started again is another instance. */
export const childInstanceId = (actor: string, n: number): string => `${actor}/${n}`
