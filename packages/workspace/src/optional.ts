/** Leaves out what is undefined: with exact optional properties, absent and undefined are two things. */
type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

export const optional = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>

/** The answer that is a page: what is on it, and after which place the next begins. Without that it is the last. */
export const paged = <Items extends object, Next>(items: Items, next: Next | undefined): Items & { readonly next?: Next } =>
  next === undefined ? items : { ...items, next }
