import { Fault, serverUnreachable } from '../../../kernel/base/errors.ts'
import { connectFailure, type Obstacle } from '../../../kernel/platform/connect-failure.ts'

const trust =
  'if the server is yours, trust its authority or its certificate: --cacert FILE, SVC_CACERT or NODE_EXTRA_CA_CERTS'

const remedies: Readonly<Record<Obstacle, string>> = {
  name: 'check the name in --server or SVC_SERVER',
  host: 'is the server running? See --server and SVC_SERVER',
  untrusted: trust,
  expired: 'renew the certificate',
  'other name': 'use one of the names of its certificate',
  'no tls': 'use http://, or the port that speaks https',
  'not known': 'is it a sluice server? See --server and SVC_SERVER'
}

/** Returns the error for a request that got no reply, with its cause and remedy. */
export function unreachableServer({ origin, protocol }: URL, error: unknown): Fault {
  const { obstacle, cause } = connectFailure(error)
  const isCut = protocol === 'http:' && /socket hang up|ECONNRESET|Parse Error/.test(cause)
  const remedy = isCut ? 'if it speaks TLS, use https://' : remedies[obstacle]
  return new Fault(serverUnreachable, `no server can be reached at ${origin}: ${cause}; ${remedy}`, {
    cause: error
  })
}
