/** Thrown inside the codec, and turned into a typed error by the reader of the journal. */
export class Undecodable extends Error {
  override readonly name = "Undecodable"
}

/** Thrown where a newer version of the machine wrote the content: it is right, and this process is too old. */
export class WrittenByNewer extends Undecodable {
  readonly written: number
  readonly known: number

  constructor(written: number, known: number) {
    super(`it was written by version ${written}, this process has ${known}; deploy it here too`)
    this.written = written
    this.known = known
  }
}
