/** A number with its noun, such as `1 document` and `2 documents`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
