/** The ids of events that the engine makes itself. */

/** The prefix of all ids that the engine makes. Ids that senders choose never start with it. */
export const reservedPrefix = "@"

/** The prefix of the ids of self-sent events. */
export const raisedPrefix = `${reservedPrefix}raised/`

/** The prefix of the ids of events that one node sent to another, where their sender gave no id. */
export const deliveryPrefix = `${reservedPrefix}delivery/`

/** Whether a node made the id, to send the event again under it until another node answers. */
export const isDeliveryId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(deliveryPrefix) === true

/** Whether an id is that of a self-sent event. Once the event is handled, the id can be dropped. */
export const isRaisedId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(raisedPrefix) === true
