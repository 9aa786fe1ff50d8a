// TLS of link connections: 1.3 only, one cipher, both sides with a certificate, no resumption.
import { constants } from 'node:crypto'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import { type LinkCertificate, pinOf } from './make-link-certificate.ts'

const alpn = 'svc-link/1'
const protocols = [alpn]

/** The hybrid group if this Node has it. */
function supportedGroups(): string {
  try {
    createSecureContext({ ecdhCurve: 'X25519MLKEM768:X25519' })
    return 'X25519MLKEM768:X25519'
  } catch {
    return 'X25519' // OpenSSL before 3.5
  }
}

let groups: string | null = null

/** Returns the context for both roles. This cipher has no limit of records that a connection could reach. */
export function linkContext({ cert, key }: LinkCertificate) {
  groups ??= supportedGroups()
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    ciphers: 'TLS_CHACHA20_POLY1305_SHA256',
    ecdhCurve: groups,
    secureOptions: constants.SSL_OP_NO_TICKET // stateful tickets, which no session cache keeps
  }
  return createSecureContext(options)
}

export type LinkContext = ReturnType<typeof linkContext>

/** A TLS socket, and the TCP socket below it. */
export interface SecureSocket {
  readonly raw: Socket
  readonly tls: TLSSocket
}

export const acceptTls = (raw: Socket, secureContext: LinkContext): SecureSocket => ({
  raw,
  tls: new TLSSocket(raw, {
    isServer: true,
    secureContext,
    requestCert: true,
    rejectUnauthorized: false, // the pin replaces the chain
    ALPNProtocols: protocols
  })
})

export function dialTls(host: string, port: number, secureContext: LinkContext): SecureSocket {
  const raw = connectTcp({ host, port, noDelay: true })
  const tls = connect({ socket: raw, secureContext, rejectUnauthorized: false, ALPNProtocols: protocols })
  return { raw, tls }
}

/** Returns the pin of the peer's certificate; '' without one, or if the peer speaks another protocol. */
export function peerPin({ tls }: SecureSocket): string {
  const { raw } = tls.getPeerCertificate()
  return raw && tls.alpnProtocol === alpn ? pinOf(raw) : ''
}
