/** The smallest PDFs that hold pages of text, also ones that only a password opens. */
import { createHash } from "node:crypto"

export interface PdfOptions {
  /** The password to read it. */
  readonly password?: string
}

export const makePdf = (pages: ReadonlyArray<ReadonlyArray<string>>, options: PdfOptions = {}): Uint8Array => {
  const id = Buffer.from("0123456789abcdef")
  const lock = options.password === undefined ? undefined : standardLock(options.password, id)
  const objects: Array<Buffer> = []
  const add = (body: (number: number) => Buffer | string): number => {
    objects.push(Buffer.from(body(objects.length + 1)))
    return objects.length
  }
  const catalog = add(() => "<< /Type /Catalog /Pages 2 0 R >>")
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(" ")
  add(() => `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`)
  add(() => "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
  for (const lines of pages) {
    const page = add(
      (number) =>
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${number + 1} 0 R >>`,
    )
    add(() => {
      const shown = lines.map((line) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`).join("\n")
      const plain = Buffer.from(`BT /F1 11 Tf 50 790 Td 15 TL\n${shown}\nET`, "latin1")
      const content = lock === undefined ? plain : rc4(objectKey(lock.key, page + 1), plain)
      return Buffer.concat([Buffer.from(`<< /Length ${content.length} >>\nstream\n`), content, Buffer.from("\nendstream")])
    })
  }
  const encrypt = lock === undefined ? undefined : add(() => `<< /Filter /Standard /V 1 /R 2 /O <${lock.owner}> /U <${lock.user}> /P -4 >>`)
  return assemble(
    objects,
    `/Root ${catalog} 0 R /ID [<${id.toString("hex")}> <${id.toString("hex")}>]${encrypt === undefined ? "" : ` /Encrypt ${encrypt} 0 R`}`,
  )
}

const assemble = (objects: ReadonlyArray<Buffer>, trailer: string): Uint8Array => {
  const parts: Array<Buffer> = [Buffer.from("%PDF-1.4\n")]
  const offsets: Array<number> = []
  let length = parts[0]?.length ?? 0
  const push = (part: Buffer) => {
    parts.push(part)
    length += part.length
  }
  for (const [index, body] of objects.entries()) {
    offsets.push(length)
    push(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), body, Buffer.from("\nendobj\n")]))
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("")
  const start = length
  push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} ${trailer} >>\nstartxref\n${start}\n%%EOF\n`,
    ),
  )
  return new Uint8Array(Buffer.concat(parts))
}

/** The standard security handler in its first form, as ISO 32000 gives it. */
const standardLock = (password: string, id: Buffer) => {
  const owner = rc4(md5(padded(password)).subarray(0, 5), padded(password))
  const permissions = Buffer.from([0xfc, 0xff, 0xff, 0xff])
  const key = md5(Buffer.concat([padded(password), owner, permissions, id])).subarray(0, 5)
  return { key, owner: owner.toString("hex"), user: rc4(key, padding).toString("hex") }
}

const padding = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex")

const padded = (password: string): Buffer => Buffer.concat([Buffer.from(password, "latin1"), padding]).subarray(0, 32)

const objectKey = (key: Buffer, number: number): Buffer =>
  md5(Buffer.concat([key, Buffer.from([number & 0xff, (number >> 8) & 0xff, (number >> 16) & 0xff, 0, 0])])).subarray(0, 10)

const md5 = (data: Buffer): Buffer => createHash("md5").update(data).digest()

const rc4 = (key: Buffer, data: Buffer): Buffer => {
  const state = Array.from({ length: 256 }, (_, index) => index)
  const swap = (a: number, b: number) => {
    const held = state[a]!
    state[a] = state[b]!
    state[b] = held
  }
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + state[i]! + key[i % key.length]!) & 0xff
    swap(i, j)
  }
  let [i, j] = [0, 0]
  return Buffer.from(
    data.map((byte) => {
      i = (i + 1) & 0xff
      j = (j + state[i]!) & 0xff
      swap(i, j)
      return byte ^ state[(state[i]! + state[j]!) & 0xff]!
    }),
  )
}
