/** The exit codes, which scripts may rely on. */
export const ExitCode = Object.freeze({
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  /** A batch has ended, but some of its items failed. */
  inPart: 5,
  /** Stored instances would differ under other code. */
  differs: 6,
  interrupted: 130,
})
