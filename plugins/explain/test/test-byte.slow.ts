// A byte through real ports of real agents: what comes back, and what is counted.
import t from 'tap'
import { startAgent, statsOf, testCluster } from '../../../test/support/test-cluster.ts'
import type { Explanation } from '../schema.ts'
import { at, type Edge, push } from './edge.ts'
import { makeCertificate, openTarget, openTlsTarget, openUdpTarget } from './places.ts'

interface Row {
  readonly name: string
  readonly target: (edge: Edge) => Promise<number>
  readonly rule?: object
  readonly question?: object
  readonly says: RegExp
  readonly verdict?: 'pass' | 'info'
  readonly counted?: Readonly<Record<string, number>> // of the rule, after it
}

const echo = ({ t }: Edge) => openTarget(t, socket => void socket.pipe(socket))
const one = { connections_total: 1, bytes_in: 1, bytes_out: 1 }

const rows: readonly Row[] = [
  { name: 'a target that answers', target: echo, says: /; 1 byte came back after [\d.]+ ms$/, counted: one },
  {
    name: 'a target that is silent',
    target: ({ t }) => openTarget(t, socket => void socket.resume()),
    says: /; no response yet$/,
    counted: { ...one, bytes_out: 0 }
  },
  {
    name: 'a target that closes at once',
    target: ({ t }) => openTarget(t, socket => void socket.destroy()),
    says: /ended the call$/,
    verdict: 'info'
  },
  {
    name: 'a UDP target',
    target: ({ t }) => openUdpTarget(t, 'pong'),
    rule: { protocol: 'udp' },
    question: { protocol: 'udp' },
    says: /; 4 bytes came back/,
    counted: { bytes_in: 1, bytes_out: 4 }
  },
  {
    name: 'a TLS name',
    target: ({ t, tls }) => openTlsTarget(t, tls, socket => socket.pipe(socket)),
    rule: { sni_pattern: 'other.example' },
    question: { sni: 'other.example' },
    says: /; 1 byte came back/
  },
  {
    name: 'a rule behind a proxy on this host',
    target: echo,
    rule: { proxy_in: ['127.0.0.0/8'] },
    says: /; 1 byte came back/,
    counted: one
  },
  {
    name: 'a rule behind a proxy elsewhere',
    target: echo,
    rule: { proxy_in: ['192.0.2.0/24'] },
    says: /ended the call$/,
    verdict: 'info',
    counted: { ...one, connections_total: 0, bytes_in: 0, bytes_out: 0 }
  },
  {
    name: 'sources to which this host does not belong',
    target: echo,
    rule: { allow_sources: ['198.51.100.0/24'] },
    question: { source: '198.51.100.7' },
    says: /ended the call$/,
    verdict: 'info'
  }
]

for (const engine of ['native', 'portable'])
  t.test(`a test byte goes through the port, and is counted (${engine} engine)`, async t => {
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris', { env: { SVC_ENGINE: engine } })
    const edge: Edge = { cluster, paris, t, tokens: {}, tls: makeCertificate(cluster.dir) }
    for (const row of rows) {
      const { port, id } = await push(edge, { targets: [at(await row.target(edge))], ...row.rule })
      const body = { client: 'paris', protocol: 'tcp', port, test_byte: true, ...row.question }
      const { outcome, steps } = await cluster.call<Explanation>('POST', '/v1/explain', body)
      t.equal(outcome, 'forwarded', row.name)
      const step = steps.at(-1)
      t.match(step, { kind: 'test_byte', id: `127.0.0.1:${port}`, verdict: row.verdict ?? 'pass' }, row.name)
      t.match(step?.text, row.says, row.name)
      const counted = Object.entries(row.counted ?? {})
      await statsOf(cluster, id, stats => counted.every(([key, value]) => Reflect.get(stats, key) === value))
    }
  })
