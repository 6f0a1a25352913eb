/** Authorities and certificates for tests of TLS, made anew for each run. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** DER: a tag, the length and the content. */
const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const [bool, integer, bits, octets, id, text, time, sequence, set] = [0x01, 0x02, 0x03, 0x04, 0x06, 0x0c, 0x17, 0x30, 0x31]

const commonName = Buffer.from([0x55, 0x04, 0x03])
const ecdsaWithSha256 = der(sequence, der(id, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])))
const basicConstraints = Buffer.from([0x55, 0x1d, 0x13])
const subjectAltName = Buffer.from([0x55, 0x1d, 0x11])

const name = (value: string) => der(sequence, der(set, der(sequence, der(id, commonName), der(text, Buffer.from(value)))))

const day = 24 * 60 * 60 * 1000
const utc = (millis: number) => der(time, Buffer.from(`${new Date(millis).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`))

const pem = (label: string, content: Buffer) =>
  `-----BEGIN ${label}-----\n${content.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END ${label}-----\n`

const keys = () => generateKeyPairSync("ec", { namedCurve: "P-256" })

const issue = (subject: string, issuer: string, publicKey: KeyObject, signer: KeyObject, extension: Buffer): string => {
  const validity = der(sequence, utc(Date.now() - day), utc(Date.now() + day))
  const serial = der(integer, Buffer.from([1]), randomBytes(8))
  const toSign = der(
    sequence,
    der(0xa0, der(integer, Buffer.from([2]))),
    serial,
    ecdsaWithSha256,
    name(issuer),
    validity,
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(sequence, extension)),
  )
  const signature = der(bits, Buffer.from([0]), sign("sha256", toSign, signer))
  return pem("CERTIFICATE", der(sequence, toSign, ecdsaWithSha256, signature))
}

const keyText = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString()

export const makeAuthority = (subject: string): Certificate => {
  const { publicKey, privateKey } = keys()
  const isAuthority = der(octets, der(sequence, der(bool, Buffer.from([255]))))
  const extension = der(sequence, der(id, basicConstraints), der(bool, Buffer.from([255])), isAuthority)
  return { cert: issue(subject, subject, publicKey, privateKey, extension), key: keyText(privateKey) }
}

/** A certificate for a name or an address, issued by an authority of this name. */
export const makeCertificate = (authority: Certificate, issuer: string, host: string): Certificate => {
  const { publicKey, privateKey } = keys()
  const alternative = isIP(host) === 4 ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host))
  const extension = der(sequence, der(id, subjectAltName), der(octets, der(sequence, alternative)))
  const signer = createPrivateKey(authority.key)
  return { cert: issue(host, issuer, publicKey, signer, extension), key: keyText(privateKey) }
}
