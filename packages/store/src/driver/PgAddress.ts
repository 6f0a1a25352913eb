/**
 * Where and how to connect: the settings of the configuration, then those of the address, then PostgreSQL's environment variables. The modes
 * of TLS are those that PostgreSQL defines; node-postgres itself would check the certificate in all of them.
 */
import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"
import * as Redacted from "effect/Redacted"

export interface Address {
  /** An address as `postgres://user:password@localhost:5432/orders?sslmode=verify-full`. */
  readonly url?: Redacted.Redacted | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted | undefined
  /** True: with TLS, and a certificate that a known authority has issued for the host. Default: as the address says, else without TLS. */
  readonly ssl?: boolean | ConnectionOptions | undefined
  /** Default: as the address says, else `detent`. */
  readonly applicationName?: string | undefined
}

/** The settings in the names of node-postgres. */
export interface Resolved {
  readonly host?: string
  readonly port?: number
  readonly database?: string
  readonly user: string
  readonly password?: string
  readonly options?: string
  readonly application_name: string
  readonly enableChannelBinding: boolean
  readonly ssl: boolean | ConnectionOptions
  /** Whether to connect without TLS if the server has none. */
  readonly isTlsOptional: boolean
}

/** The settings are not valid. The message does not contain the address, which may have a password in it. */
export class AddressInvalid extends TypeError {}

/** Neither the configuration nor the environment names a user. */
export class UserUnknown extends AddressInvalid {
  constructor() {
    super("the address names no user, and neither does USER")
  }
}

/** Throws `AddressInvalid`. */
export const resolve = (address: Address): Resolved => {
  const { url, query } = parse(address.url === undefined ? undefined : Redacted.value(address.url))
  const given = (name: string, part: string | undefined) => query.get(name) ?? (part ? decoded(part) : undefined)
  const user = address.username ?? given("user", url?.username) ?? environment("PGUSER") ?? environment("USER") ?? environment("USERNAME")
  if (user === undefined) throw new UserUnknown()
  const host = address.host ?? given("host", url?.hostname.replace(/^\[(.*)\]$/, "$1"))
  const port = address.port ?? portOf(given("port", url?.port))
  const database = address.database ?? given("dbname", url?.pathname.slice(1))
  const password = address.password === undefined ? given("password", url?.password) : Redacted.value(address.password)
  const options = given("options", undefined)
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(database === undefined ? {} : { database }),
    ...(password === undefined ? {} : { password }),
    ...(options === undefined ? {} : { options }),
    user,
    application_name: address.applicationName ?? given("application_name", undefined) ?? "detent",
    enableChannelBinding: given("channel_binding", undefined) === "require",
    ...(address.ssl === undefined ? tlsOf(query) : { ssl: address.ssl, isTlsOptional: false }),
  }
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new AddressInvalid("a part of the address is not encoded as a URL", { cause })
  }
}

const environment = (name: string): string | undefined => process.env[name] || undefined

const parse = (text: string | undefined) => {
  if (text === undefined) return { url: undefined, query: new URLSearchParams() }
  if (!URL.canParse(text)) throw new AddressInvalid("the address is not a URL")
  const url = new URL(text)
  if (url.hostname.includes(",")) throw new AddressInvalid("the address names several hosts, and one is supported")
  return { url, query: url.searchParams }
}

const portOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new AddressInvalid("the port of the address is not a number from 1 to 65535")
  return port
}

const contentOf = (name: string, path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new AddressInvalid(`the file of ${name} cannot be read`, { cause })
  }
}

type Tls = Pick<Resolved, "ssl" | "isTlsOptional">

const tlsOf = (query: URLSearchParams): Tls => {
  const file = (name: string) => {
    const path = query.get(name)
    return path === null || path === "system" ? undefined : contentOf(name, path)
  }
  const mode = query.get("sslmode") ?? environment("PGSSLMODE") ?? "disable"
  if (mode === "disable") return { ssl: false, isTlsOptional: false }
  const [ca, cert, key] = [file("sslrootcert"), file("sslcert"), file("sslkey")]
  const own: ConnectionOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
  const ofAnyHost: ConnectionOptions = { ...own, checkServerIdentity: () => undefined }
  switch (mode) {
    // An attacker in the network could answer that there is no TLS, so both modes protect alike: not at all.
    case "allow":
    case "prefer":
      return { ssl: { ...own, rejectUnauthorized: false }, isTlsOptional: true }
    case "require":
      return { ssl: ca === undefined ? { ...own, rejectUnauthorized: false } : ofAnyHost, isTlsOptional: false }
    case "verify-ca":
      if (ca === undefined)
        throw new AddressInvalid(
          "sslmode=verify-ca needs sslrootcert, the file of the authority: anybody gets a certificate of a public one",
        )
      return { ssl: ofAnyHost, isTlsOptional: false }
    case "verify-full":
      return { ssl: own, isTlsOptional: false }
    default:
      throw new AddressInvalid("sslmode is not one of disable, allow, prefer, require, verify-ca and verify-full")
  }
}
