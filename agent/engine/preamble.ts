import { type EngineFault, engineFault } from './engine-fault.ts'

/**
 * Bytes that an engine sends to the target before the caller's first: a PROXY protocol header, for example. They are not
 * traffic: no meter delays them, and no counter includes them.
 */
export interface Preamble {
  readonly ipv4: readonly PreamblePart[] // for callers with an IPv4 address, in this order
  readonly ipv6: readonly PreamblePart[]
  /** UDP: whether it precedes the first datagram of a flow, or each. */
  readonly datagrams: 'first' | 'each'
  /** Bytes that a probe of a target sends before it closes: it has no caller. Default: none. */
  readonly probe?: Uint8Array
}

export type PreamblePart =
  | { readonly bytes: Uint8Array }
  | { readonly field: PreambleField; readonly form: 'binary' | 'text' } // binary: numbers and addresses are big-endian
  | { readonly length: 1 | 2; readonly of: readonly PreamblePart[] } // the size in `length` bytes, big-endian, then the parts
  | { readonly whenNamed: readonly PreamblePart[] } // omitted if `server_name` is empty
  | { readonly crc32c: true } // of the preamble with these four bytes as 0; big-endian; at most one

export type PreambleField =
  | 'source_address'
  | 'source_port'
  | 'listen_address' // where the caller connected, or the flow's first datagram arrived, according to the first read
  | 'listen_port'
  | 'server_name' // the TLS name that the caller asks for; empty: none, longer than 255 bytes, or UDP
  | 'connection_id' // unique among engines: 16 bytes, or 32 hexadecimal digits

/** The most bytes that a preamble can have. */
const maxPreambleBytes = 4096

/** The most bytes of each field. */
const maxFieldBytes: Readonly<Record<PreambleField, Readonly<Record<'binary' | 'text', number>>>> = {
  source_address: { binary: 16, text: 45 },
  source_port: { binary: 2, text: 5 },
  listen_address: { binary: 16, text: 45 },
  listen_port: { binary: 2, text: 5 },
  server_name: { binary: 255, text: 255 },
  connection_id: { binary: 16, text: 32 }
}

/**
 * Checks a preamble when its rule opens, so that it can be written for every caller. Throws EngineFault EINVAL if it can
 * be too long, or if its lengths or checksums do not fit.
 */
export function checkPreamble({ ipv4, ipv6, probe = new Uint8Array() }: Preamble): void {
  for (const [family, parts] of Object.entries({ ipv4, ipv6, probe: [{ bytes: probe }] })) {
    const bytes = mostBytesOf(parts)
    if (bytes > maxPreambleBytes)
      throw invalid(`preamble.${family} can have ${bytes} bytes; at most ${maxPreambleBytes} are allowed`)
    if (checksumsIn(parts) > 1) throw invalid(`preamble.${family} has more than one crc32c`)
  }
}

const invalid = (message: string): EngineFault => engineFault('EINVAL', message)

function mostBytesOf(parts: readonly PreamblePart[]): number {
  return parts.reduce((sum, part) => sum + mostBytesOfPart(part), 0)
}

function mostBytesOfPart(part: PreamblePart): number {
  if ('bytes' in part) return part.bytes.length
  if ('field' in part) return mostBytesOfField(part)
  if ('whenNamed' in part) return mostBytesOf(part.whenNamed)
  if ('crc32c' in part) return 4
  const bytes = mostBytesOf(part.of)
  if (bytes >= 256 ** part.length)
    throw invalid(`preamble: ${bytes} bytes do not fit into a length of ${part.length} bytes`)
  return part.length + bytes
}

function mostBytesOfField({ field, form }: { readonly field: string; readonly form: string }): number {
  const bytes = (maxFieldBytes as Readonly<Record<string, Readonly<Record<string, number>>>>)[field]?.[form]
  if (bytes === undefined) throw invalid(`preamble has no field ${field} in the form ${form}`)
  return bytes
}

const checksumsIn = (parts: readonly PreamblePart[]): number =>
  parts.reduce((sum, part) => {
    if ('of' in part) return sum + checksumsIn(part.of)
    if ('whenNamed' in part) return sum + checksumsIn(part.whenNamed)
    return 'crc32c' in part ? sum + 1 : sum
  }, 0)
