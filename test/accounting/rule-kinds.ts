// Kinds of rules: plain, without splice, with a TLS name, UDP.
import { clientHello } from '../engine/client-hellos.ts'
import { freePort } from '../support/ports.ts'
import type { TestFolder } from '../support/test-cluster.ts'
import { openTcpRoute, type Route } from './tcp-route.ts'
import { openUdpRoute } from './udp-route.ts'

export interface RuleKind {
  readonly name: string
  /** Opens both ends. */
  readonly open: (t: TestFolder) => Promise<Route>
  /** Returns the fields of the rule that depend on its kind. */
  readonly body: (target: object) => object
}

/** Returns the kinds for a user. The TLS name includes the user id. */
export async function kindsOf(owner: string): Promise<readonly RuleKind[]> {
  const closedTarget = { host: '127.0.0.1', port: await freePort() }
  const name = `${owner}.example.org`
  const hello = await clientHello({ servername: name })
  const rateLimit = { bandwidth_in_bps: 400_000_000 } // fast enough, but prevents splice
  return [
    { name: 'plain', open: t => openTcpRoute(t), body: target => ({ targets: [target] }) },
    {
      name: 'capped, with two targets',
      open: t => openTcpRoute(t),
      body: target => ({ targets: [closedTarget, target], rate_limit: rateLimit })
    },
    {
      name: 'SNI',
      open: t => openTcpRoute(t, hello),
      body: target => ({ targets: [target], sni_pattern: name })
    },
    { name: 'UDP', open: openUdpRoute, body: target => ({ targets: [target], protocol: 'udp' }) }
  ]
}
