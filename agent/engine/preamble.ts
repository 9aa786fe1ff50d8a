/**
 * Bytes that an engine sends to the target before the caller's first: a PROXY protocol header, for example. They are not
 * traffic: no meter delays them, and no counter sees them.
 */
export interface Preamble {
  readonly ipv4: readonly PreamblePart[] // of callers with an IPv4 address, in this order
  readonly ipv6: readonly PreamblePart[]
  /** UDP: it precedes the first datagram of a flow, or each. */
  readonly datagrams: 'first' | 'each'
  /** What a probe of a target sends before it closes, since no caller is behind it; default: nothing. */
  readonly probe?: Uint8Array
}

export type PreamblePart =
  | { readonly bytes: Uint8Array }
  | { readonly field: PreambleField; readonly form: 'binary' | 'text' } // binary: numbers and addresses big-endian
  | { readonly length: 1 | 2; readonly of: readonly PreamblePart[] } // the size in so many bytes, big-endian, then the parts
  | { readonly whenNamed: readonly PreamblePart[] } // left out where `server_name` is empty
  | { readonly crc32c: true } // of the whole preamble, in which these four bytes are 0; big-endian; at most one

export type PreambleField =
  | 'source_address'
  | 'source_port'
  | 'listen_address' // where the caller has connected, or the flow's first datagram has arrived; as a first read says it
  | 'listen_port'
  | 'server_name' // for which the caller's TLS has asked; at most 255 bytes, else empty; UDP: empty
  | 'connection_id' // unique among engines: 16 bytes, or 32 hexadecimal digits

/** The most bytes that a preamble may have. */
export const maxPreambleBytes = 4096
