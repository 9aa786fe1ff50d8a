// Callers who are really refused by guards and limits: the reasons of `rejected` that the other table does not have.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from '../../../test/support/ports.ts'
import { at, type Edge, type Fault, good, probed, push } from './edge.ts'
import { call, exchange, hold, openAnswering, openTarget, refused } from './places.ts'

const sizeOf = (datagram: Buffer): string[] => [String(datagram.length)]

/** A UDP rule to a target that answers each datagram with its size. */
const sizes = async (edge: Edge, more: object): Promise<number> => {
  const targets = [at(await openAnswering(edge.t, sizeOf))]
  return (await push(edge, { protocol: 'udp', targets, ...more })).port
}

const udp = (port: number) => ({ port, protocol: 'udp' })
const shop = { sni_pattern: 'shop.example' }
const manyWaiting = 1_100 // for their TLS name: more than an engine lets wait

const guards: readonly Fault[] = [
  {
    name: 'an operator has banned the source',
    says: 'refused source_banned',
    async seed(edge) {
      const { port, id: rule_id } = await good(edge)
      await edge.cluster.call('POST', '/v1/bans', { source: '127.0.0.41', rule_id, reason: 'scans' })
      await refused(port, '127.0.0.41')
      return probed(port, { source: '127.0.0.41' })
    }
  },
  {
    name: 'none: the ban is of another source',
    says: 'forwarded connected',
    step: { reason: null, kind: 'ban', text: /^1 source is banned/ },
    async seed(edge) {
      const { port, id: rule_id } = await good(edge)
      await edge.cluster.call('POST', '/v1/bans', { source: '192.0.2.0/24', rule_id })
      return probed(port, { source: '127.0.0.1' })
    }
  },
  {
    name: 'the agent has banned the source for its handshakes',
    says: 'refused source_banned',
    async seed(edge) {
      const { port, id } = await good(edge, { ...shop, ban: { failed_handshakes: 1 } })
      for (let count = 0; count < 2; count++) await refused(port, '127.0.0.42', 'no TLS\r\n')
      await edge.paris.agent.until('ban.made', ({ rule }) => rule === id)
      await refused(port, '127.0.0.42')
      return probed(port, { source: '127.0.0.42', sni: 'shop.example' })
    }
  },
  {
    name: 'the source is denied, by a list',
    says: 'refused source_denied',
    step: { reason: null, kind: 'source_list', text: /is in the list @blocked, which deny_sources names/ },
    async seed(edge) {
      await edge.cluster.call('PUT', '/v1/source-lists/blocked', { entries: ['127.0.0.43', '2001:db8::/32'] })
      const { port } = await good(edge, { deny_sources: ['@blocked'] })
      await refused(port, '127.0.0.43')
      return probed(port, { source: '127.0.0.43' })
    }
  },
  {
    name: 'the source is not among those that are allowed',
    says: 'refused source_denied',
    step: { reason: 'source_denied', text: /not in allow_sources/ },
    async seed(edge) {
      const { port } = await good(edge, { allow_sources: ['192.0.2.0/24'] })
      await refused(port, '127.0.0.44')
      return probed(port, { source: '127.0.0.44' })
    }
  },
  {
    name: 'none: behind a proxy the address in its header is judged, not its own',
    says: 'forwarded connected',
    step: { reason: null, kind: 'source', text: /the PROXY header, not that of the proxy/ },
    async seed(edge) {
      const { port } = await good(edge, { proxy_in: ['127.0.0.0/8'], deny_sources: ['127.0.0.0/8'] })
      await refused(port, '127.0.0.1', 'PROXY TCP4 127.0.0.45 127.0.0.1 1 2\r\n')
      return probed(port, { source: '127.0.0.1' })
    }
  },
  {
    name: 'the source has as many connections as may be',
    says: 'refused source_limit',
    async seed(edge) {
      const { port } = await good(edge, { source_limit: { connections: 1 } })
      await hold(edge.t, port, '127.0.0.46')
      await refused(port, '127.0.0.46')
      return probed(port, { source: '127.0.0.46' })
    }
  },
  {
    name: 'none: another source has as many connections as may be',
    says: 'forwarded connected',
    async seed(edge) {
      const { port } = await good(edge, { source_limit: { connections: 1 } })
      await hold(edge.t, port, '127.0.0.46')
      await refused(port, '127.0.0.46')
      return probed(port, { source: '127.0.0.47' })
    }
  },
  {
    name: 'the source begins too many connections',
    says: 'refused source_limit',
    async seed(edge) {
      const { port } = await good(edge, { source_limit: { new_connections: 2, within_secs: 60 } })
      for (let count = 0; count < 2; count++) await hold(edge.t, port, '127.0.0.48')
      await refused(port, '127.0.0.48')
      return probed(port, { source: '127.0.0.48' })
    }
  },
  {
    name: 'replies are dropped that are too large for what was asked',
    says: 'forwarded active',
    step: { reason: 'amplification', text: /at most 2 times .* 1 replies were dropped/ },
    async seed(edge) {
      const targets = [at(await openAnswering(edge.t, () => ['a long answer', 'yes']))]
      const { port } = await push(edge, { protocol: 'udp', targets, amplification: { ratio: 2 } })
      await exchange(edge.t, port, { sizes: [2], until: 'yes' })
      return udp(port)
    }
  }
]

const limits: readonly Fault[] = [
  {
    name: 'new connections of the owner come too fast',
    says: 'refused owner_new_connections_per_sec',
    async seed(edge) {
      const { cluster, paris } = edge
      const limit = { new_connections_per_sec: 1 }
      await cluster.call('PUT', `/v1/clients/${paris.clientId}/owners/olga/rate-limit`, limit)
      const targets = [at(await openTarget(edge.t, socket => socket.end('bye')))]
      const { port } = await push(edge, { owner: 'olga', targets })
      await Promise.all(Array.from({ length: 8 }, () => call(port)))
      return probed(port)
    }
  },
  {
    name: 'datagrams are beyond the bandwidth of the rule',
    says: 'forwarded active',
    step: { reason: 'bandwidth' },
    async seed(edge) {
      const port = await sizes(edge, { rate_limit: { bandwidth_in_bps: 8 } })
      await exchange(edge.t, port, { sizes: [...Array<number>(20).fill(1_000), 0], until: '0' })
      return udp(port)
    }
  },
  {
    name: 'datagrams are beyond the bandwidth of the owner',
    says: 'forwarded active',
    step: { reason: 'owner_bandwidth' },
    async seed(edge) {
      const { cluster, paris } = edge
      await cluster.call('PUT', `/v1/clients/${paris.clientId}/owners/oona/rate-limit`, {
        bandwidth_in_bps: 8
      })
      const port = await sizes(edge, { owner: 'oona' })
      await exchange(edge.t, port, { sizes: [...Array<number>(20).fill(1_000), 0], until: '0' })
      return udp(port)
    }
  },
  {
    name: 'as many UDP flows as may be',
    says: 'refused flows_dropped_overflow',
    async seed(edge) {
      const port = await sizes(edge, {})
      for (let flow = 0; flow < maxFlows; flow++) await exchange(edge.t, port, { sizes: [1], until: '1' })
      return udp(port)
    }
  }
]

/** Flow limit of rules in this test. */
export const maxFlows = 4

const lost: readonly Fault[] = [
  {
    name: 'a caller of a TLS name says nothing',
    says: 'forwarded active',
    step: { reason: 'sni_timeout' },
    async seed(edge) {
      const { port } = await good(edge, shop)
      await call(port)
      return { port, sni: 'shop.example' }
    }
  },
  {
    name: 'too many callers of TLS names wait',
    says: 'forwarded active',
    step: { reason: 'sni_overflow' },
    async seed(edge) {
      const { port } = await good(edge, shop)
      const { promise, resolve } = Promise.withResolvers<void>()
      for (let count = 0; count < manyWaiting; count++) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {}).on('close', () => resolve())
        edge.t.teardown(() => void socket.destroy())
      }
      await promise
      return { port, sni: 'shop.example' }
    }
  },
  {
    name: 'no target takes the callers',
    says: 'refused connect_refused',
    step: { reason: 'no_target' },
    async seed(edge) {
      const { port } = await push(edge, { targets: [at(await freePort())] })
      await refused(port, '127.0.0.1')
      return probed(port)
    }
  },
  {
    name: 'a datagram has no room behind its header',
    says: 'forwarded active',
    step: { reason: 'datagram_too_large' },
    async seed(edge) {
      const port = await sizes(edge, { proxy_out: 2, proxy_out_udp: 'each' })
      await exchange(edge.t, port, { sizes: [65_500, 0], until: null })
      return udp(port)
    }
  },
  {
    name: 'datagrams come while the target is refused by ICMP',
    says: 'refused connect_refused',
    step: { reason: 'datagram_unsent' },
    async seed(edge) {
      const { port, id } = await push(edge, { protocol: 'udp', targets: [at(await freePort())] })
      await burst(edge, port)
      await edge.paris.agent.until('rule.udp_flow_evicted_icmp', ({ rule }) => rule === id)
      return probed(port, { protocol: 'udp' })
    }
  },
  {
    name: 'too many datagrams come while the target is looked up',
    says: 'refused timeout',
    step: { reason: 'pending_overflow' },
    async seed(edge) {
      const { port, id } = await push(edge, { protocol: 'udp', targets: [at(9, 'silent.test')] })
      await burst(edge, port)
      await edge.paris.agent.until('rule.udp_dns_failed', ({ rule }) => rule === id)
      return probed(port, { protocol: 'udp' })
    }
  }
]

/** Many datagrams of one caller. */
async function burst({ t }: Edge, port: number): Promise<void> {
  const socket = createSocket('udp4')
  t.teardown(() => void socket.close())
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  for (let count = 0; count < 200; count++) socket.send('datagram')
}

export const refusals: readonly Fault[] = [...guards, ...limits, ...lost]
