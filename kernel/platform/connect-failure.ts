// Explains why a connection failed. Shared by the command line and the agent.
import { reasonOf } from '../base/errors.ts'

/** The cause: name resolution, the route to the host, trust in the certificate, or another protocol. */
export type Obstacle = 'name' | 'host' | 'untrusted' | 'other name' | 'expired' | 'no tls' | 'not known'

export interface ConnectFailure {
  readonly obstacle: Obstacle
  readonly cause: string // readable, with the error code of the system or OpenSSL
}

interface SocketError extends Error {
  readonly code?: string
  readonly hostname?: string
  readonly address?: string
  readonly port?: number
}

/** A name with several addresses fails with one error per address; the first one counts. */
export function connectFailure(error: unknown): ConnectFailure {
  const failed = (error instanceof AggregateError ? error.errors[0] : error) as SocketError
  const code = failed?.code ?? ''
  const [obstacle, text] = known[code] ?? byText(code, reasonOf(failed))
  const all = error instanceof AggregateError ? error.errors.map(reasonOf).join(', ') : reasonOf(failed)
  return { obstacle, cause: text === null ? all : `${text(failed)} (${code})` }
}

type Text = ((error: SocketError) => string) | null

const formatAddress = ({ address, port }: SocketError): string =>
  address === undefined ? 'there' : `at ${address.includes(':') ? `[${address}]` : address}:${port}`
const untrusted: Text = () => 'no trusted authority signed its certificate'
const unreachable: Text = error => `no route to the host ${formatAddress(error)}`

const known: Readonly<Record<string, readonly [Obstacle, Text]>> = {
  ENOTFOUND: ['name', ({ hostname }) => `there is no host ${hostname}`],
  EAI_AGAIN: ['name', ({ hostname }) => `no name server answers for ${hostname}`],
  ECONNREFUSED: ['host', error => `nothing listens ${formatAddress(error)}`],
  ETIMEDOUT: ['host', error => `nothing answers ${formatAddress(error)}`],
  EHOSTUNREACH: ['host', unreachable],
  ENETUNREACH: ['host', unreachable],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['untrusted', () => 'its certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: ['untrusted', untrusted],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['untrusted', untrusted],
  UNABLE_TO_GET_ISSUER_CERT: ['untrusted', untrusted],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['untrusted', untrusted],
  CERT_HAS_EXPIRED: ['expired', () => 'its certificate has expired'],
  CERT_NOT_YET_VALID: [
    'expired',
    () => 'its certificate is not valid yet, or the clock of this machine is wrong'
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: ['other name', ({ message }) => message],
  ERR_SSL_WRONG_VERSION_NUMBER: ['no tls', () => 'the server there does not speak TLS'],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: ['no tls', () => 'the server there does not speak TLS']
}

/** OpenSSL reports these errors with the generic code EPROTO on a socket that is already open. */
const byText = (code: string, text: string): readonly [Obstacle, Text] =>
  code === 'EPROTO' && /wrong version number|packet length too long/.test(text)
    ? ['no tls', () => 'the server there does not speak TLS']
    : ['not known', null]
