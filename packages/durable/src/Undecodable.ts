/** Thrown inside the codec, and turned into a typed error by whoever reads a journal. */
export class Undecodable extends Error {
  override readonly name = "Undecodable"
}
