/** How the command ends: what scripts may rely on. */
export const ExitCode = Object.freeze({
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  /** A batch is done, but not all that was in it. */
  inPart: 5,
  interrupted: 130,
})
