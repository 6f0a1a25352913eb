/** Omits undefined fields: with exact optional property types, absent and undefined differ. */
type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

export const optional = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>

/** A page: its entries, and the cursor of the next page. The last page has no cursor. */
export const paged = <Items extends object, Next>(items: Items, next: Next | undefined): Items & { readonly next?: Next } =>
  next === undefined ? items : { ...items, next }
