/**
 * Instances of a Detent server in React.
 *
 * ```tsx
 * const { state, send, pending, error } = useInstance(client.order, "order-7", { decide: optimistic(Order) })
 * ```
 */
export type { Decide, Decided, InstanceView, QueueStorage, Waiting } from "./InstanceStore.ts"
export { type UsedInstance, type UseInstanceOptions, useInstance } from "./useInstance.ts"
export { type UsedInstances, type UseInstancesOptions, useInstances } from "./useInstances.ts"
