/**
 * The URL of an instance or execution contains its id. HTTP clients resolve the segments `.` and `..` of a URL before they send it, also
 * percent-encoded ones. Only a program that uses the engine directly can have an instance with such an id.
 */
export const addressProblem = (id: string): string | undefined =>
  id === "." || id === ".." ? `its id ${id} cannot be part of an address: use another one` : undefined
