/** Explains why a PostgreSQL server cannot be used, by the error codes of the operating system and of the server. */
import * as Predicate from "effect/Predicate"
import { isSqlError } from "effect/sql/SqlError"
import { causeOf, type Explain, StoreNotOpened } from "../contract/StoreNotOpened.ts"
import { AddressInvalid, UserUnknown } from "../driver/PgAddress.ts"

const starting = "start PostgreSQL there, or correct the address"
const naming = "correct the name of the host"
const reaching = "check the network between this machine and the server, or correct the address"
const allowing = "correct the user and the password in the address"

const nextSteps: { readonly [code: string]: string } = {
  ECONNREFUSED: starting,
  ENOENT: starting,
  ENOTFOUND: naming,
  EAI_AGAIN: naming,
  "28P01": allowing,
  "28000": `${allowing}, or allow them in pg_hba.conf`,
  "3D000": "create the database, or correct the address",
  "42501": "let the user create a schema in the database",
  "53300": "give this store fewer connections (maxConnections), or PostgreSQL more (max_connections)",
  "57P03": "wait until PostgreSQL has started, and try again",
  ...Object.fromEntries(
    [
      "SELF_SIGNED_CERT_IN_CHAIN",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    ].map((code) => [code, "give the certificate of the server's authority as sslrootcert in the address"]),
  ),
  ERR_TLS_CERT_ALTNAME_INVALID: "name the host as its certificate does, or set sslmode=verify-ca in the address",
}

export const explainPostgres = (url: string): Explain => {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    // The invalid address is not repeated: there may be a password in it.
    const nextStep = "give one such as postgres://user:password@localhost:5432/orders"
    const problem = "it is not an address of a PostgreSQL server"
    return () => new StoreNotOpened({ store: "PostgreSQL", place: "an unknown address", problem, nextStep })
  }
  const place = placeOf(new URL(url))
  return (error) => {
    const cause = causeOf(error)
    if (cause instanceof UserUnknown)
      return new StoreNotOpened({ store: "PostgreSQL", place, problem: cause.message, nextStep: namingUser })
    if (cause instanceof AddressInvalid)
      return new StoreNotOpened({ store: "PostgreSQL", place, problem: cause.message, nextStep: "correct the address" })
    const code = Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : ""
    const isConnecting = isSqlError(error) && error.reason.operation === "connect"
    const nextStep = nextSteps[code] ?? (isConnecting ? reaching : undefined)
    return nextStep === undefined ? undefined : new StoreNotOpened({ store: "PostgreSQL", place, problem: wordsOf(cause, code), nextStep })
  }
}

const namingUser = "name one, such as postgres://user@localhost:5432/orders"

const placeOf = ({ hostname, port, pathname, username }: URL): string => {
  const database = pathname === "" || pathname === "/" ? `/${username}` : pathname
  return `${hostname === "" ? "localhost" : hostname}:${port === "" ? 5432 : port}${database}`
}

/** A message of the server is shown as it is. One of the operating system would repeat the address, so only its code is shown. */
const wordsOf = (cause: unknown, code: string): string => {
  if (/^E[A-Z_]+$/.test(code)) return code
  return cause instanceof Error ? cause.message : String(cause)
}
