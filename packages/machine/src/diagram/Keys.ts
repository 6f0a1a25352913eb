/** Keys of the parts of a scene. A state, a group and a stop may have the same name. */

export const startKey = "start"
export const anyKey = "any"
export const stateKey = (tag: string) => `state:${tag}`
export const groupKey = (name: string) => `group:${name}`
export const isGroupKey = (key: string) => key.startsWith("group:")
export const stopKey = (reason: string | undefined) => (reason === undefined ? "stop" : `stop:${reason}`)
