// The first thing a TLS client says (RFC 8446 4.1.2, RFC 6066 3), read for the name it asks for. Takes any bytes.

/** What the bytes so far tell; 'incomplete' may become any of the others, which stay. The name is lower-case. */
export type Hello = { readonly name: string } | 'nameless' | 'incomplete' | 'not-tls'

/** Beyond it nobody waits for the rest. */
export const maxHelloBytes = 64 * 1024

const handshakeRecord = 22
const recordHeaderBytes = 5
const maxRecordBytes = 2 ** 14
const clientHello = 1
const messageHeaderBytes = 4
const serverName = 0 // the extension
const hostName = 0 // an entry of it
const namePattern = /^[\w-]+(\.[\w-]+)*$/

export function readHello(bytes: Uint8Array): Hello {
  const { message, isBroken } = unwrap(bytes)
  const [type = clientHello, high = 0, middle = 0, low = 0] = message
  const length = messageHeaderBytes + high * 65_536 + middle * 256 + low
  if (type !== clientHello || length > maxHelloBytes) return 'not-tls'
  if (message.length >= messageHeaderBytes && message.length >= length)
    return nameIn(openReader(message.subarray(messageHeaderBytes, length)))
  return isBroken ? 'not-tls' : 'incomplete'
}

/** What the handshake records in front carry, put together; broken off by anything else. */
function unwrap(bytes: Uint8Array): { readonly message: Uint8Array; readonly isBroken: boolean } {
  const parts: Uint8Array[] = []
  const ended = (isBroken: boolean) => ({ message: Buffer.concat(parts), isBroken })
  for (let at = 0; at < bytes.length; ) {
    const [type, major = 3, minor = 0, high, low] = bytes.subarray(at, at + recordHeaderBytes)
    if (type !== handshakeRecord || major !== 3 || minor > 4) return ended(true)
    if (high === undefined || low === undefined) return ended(false)
    const length = high * 256 + low
    if (length === 0 || length > maxRecordBytes) return ended(true)
    at += recordHeaderBytes
    parts.push(bytes.subarray(at, at + length))
    at += length
  }
  return ended(false)
}

function nameIn(hello: Reader): Hello {
  hello.bytes(2 + 32) // version, random
  for (const lengthBytes of [1, 2, 1] as const) hello.vector(lengthBytes) // session, ciphers, compressions
  if (hello.isDone()) return hello.isShort() ? 'not-tls' : 'nameless'

  const extensions = openReader(hello.vector(2))
  let names: Reader | null = null
  while (!extensions.isDone()) {
    const type = extensions.number(2)
    const body = extensions.vector(2)
    if (type === serverName) names ??= openReader(body)
  }
  if (hello.isShort() || extensions.isShort() || !hello.isDone()) return 'not-tls'
  return names ? hostIn(names) : 'nameless'
}

function hostIn(extension: Reader): Hello {
  const list = openReader(extension.vector(2))
  if (extension.isShort()) return 'not-tls'
  while (!list.isDone()) {
    const type = list.number(1)
    const host = Buffer.from(list.vector(2)).toString('latin1').toLowerCase().replace(/\.$/, '')
    if (list.isShort()) return 'not-tls'
    if (type === hostName) return namePattern.test(host) ? { name: host } : 'nameless'
  }
  return 'nameless'
}

/** Never reads past its bytes: what is not there reads as nothing, and is remembered. */
interface Reader {
  number(lengthBytes: number): number
  bytes(length: number): Uint8Array
  /** A length, then as many bytes. */
  vector(lengthBytes: number): Uint8Array
  isDone(): boolean
  isShort(): boolean
}

function openReader(all: Uint8Array): Reader {
  let at = 0
  let isShort = false

  const bytes = (length: number) => {
    const found = all.subarray(at, at + length)
    at += length
    isShort ||= at > all.length
    return isShort ? found.subarray(0, 0) : found
  }
  const number = (lengthBytes: number) => bytes(lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
  return {
    number,
    bytes,
    vector: lengthBytes => bytes(number(lengthBytes)),
    isDone: () => at >= all.length,
    isShort: () => isShort
  }
}
