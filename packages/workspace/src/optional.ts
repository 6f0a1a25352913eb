/** Leaves out what is undefined: with exact optional properties, absent and undefined are two things. */
type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

export const optional = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>

/** A page: its entries, and the cursor of the next page. Without a cursor it is the last one. */
export const paged = <Items extends object, Next>(items: Items, next: Next | undefined): Items & { readonly next?: Next } =>
  next === undefined ? items : { ...items, next }
