// Reads the server name from a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3). Accepts any bytes.

/** The result for the bytes so far. Only 'incomplete' changes with more bytes. The name is lower-case. */
export type ClientHello = { readonly name: string } | 'nameless' | 'incomplete' | 'not-tls'

/** The longest ClientHello that is parsed. A longer one is 'not-tls'. */
export const maxClientHelloBytes = 64 * 1024

const handshakeRecord = 22
const recordHeaderBytes = 5
const maxRecordBytes = 2 ** 14
const clientHello = 1
const messageHeaderBytes = 4
const serverNameExtension = 0
const hostNameEntry = 0
const namePattern = /^[\w-]+(\.[\w-]+)*$/

export function parseClientHello(bytes: Uint8Array): ClientHello {
  const { message, isBroken } = joinRecords(bytes)
  const [type = clientHello, high = 0, middle = 0, low = 0] = message
  const length = messageHeaderBytes + high * 65_536 + middle * 256 + low
  if (type !== clientHello || length > maxClientHelloBytes) return 'not-tls'
  if (message.length >= messageHeaderBytes && message.length >= length)
    return parseBody(new ByteReader(message.subarray(messageHeaderBytes, length)))
  return isBroken ? 'not-tls' : 'incomplete'
}

/** Joins the payloads of the leading handshake records; any other record makes the message broken. */
function joinRecords(bytes: Uint8Array): { readonly message: Uint8Array; readonly isBroken: boolean } {
  const parts: Uint8Array[] = []
  const joined = (isBroken: boolean) => ({ message: Buffer.concat(parts), isBroken })
  for (let at = 0; at < bytes.length; ) {
    const [type, major = 3, minor = 0, high, low] = bytes.subarray(at, at + recordHeaderBytes)
    if (type !== handshakeRecord || major !== 3 || minor > 4) return joined(true)
    if (high === undefined || low === undefined) return joined(false)
    const length = high * 256 + low
    if (length === 0 || length > maxRecordBytes) return joined(true)
    at += recordHeaderBytes
    parts.push(bytes.subarray(at, at + length))
    at += length
  }
  return joined(false)
}

function parseBody(body: ByteReader): ClientHello {
  body.bytes(2 + 32) // version, random
  for (const lengthBytes of [1, 2, 1] as const) body.vector(lengthBytes) // session, ciphers, compressions
  if (body.isAtEnd) return body.isOverrun ? 'not-tls' : 'nameless'

  const extensions = new ByteReader(body.vector(2))
  let serverName: ByteReader | null = null
  while (!extensions.isAtEnd) {
    const type = extensions.number(2)
    const extension = extensions.vector(2)
    if (type === serverNameExtension) serverName ??= new ByteReader(extension)
  }
  if (body.isOverrun || extensions.isOverrun || !body.isAtEnd) return 'not-tls'
  return serverName ? parseServerName(serverName) : 'nameless'
}

function parseServerName(extension: ByteReader): ClientHello {
  const entries = new ByteReader(extension.vector(2))
  if (extension.isOverrun) return 'not-tls'
  while (!entries.isAtEnd) {
    const type = entries.number(1)
    const host = Buffer.from(entries.vector(2)).toString('latin1').toLowerCase().replace(/\.$/, '')
    if (entries.isOverrun) return 'not-tls'
    if (type === hostNameEntry) return namePattern.test(host) ? { name: host } : 'nameless'
  }
  return 'nameless'
}

/** A bounds-checked reader. Missing bytes read as empty and set `isOverrun`. */
class ByteReader {
  readonly #all: Uint8Array
  #at = 0

  constructor(all: Uint8Array) {
    this.#all = all
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#all.length
  }

  get isOverrun(): boolean {
    return this.#at > this.#all.length
  }

  /** Reads a big-endian number. */
  number(lengthBytes: number): number {
    return this.bytes(lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
  }

  bytes(length: number): Uint8Array {
    const start = this.#at
    this.#at += length
    return this.isOverrun ? this.#all.subarray(0, 0) : this.#all.subarray(start, this.#at)
  }

  /** Reads a length, then as many bytes. */
  vector(lengthBytes: number): Uint8Array {
    return this.bytes(this.number(lengthBytes))
  }
}
