// node rule-host.ts '{"bind": ["0.0.0.0"], "rules": [...]}': runs a native engine of one thread with these rules and three
// unlimited meters, and prints `ready`. Without an agent, only the rules themselves make a difference.
import type { EngineRule } from '../../../agent/engine/engine.ts'
import { loadNative } from '../../../native/index.ts'

export interface HostedRule {
  readonly port: number
  readonly count?: number // number of rules, on consecutive ports
  readonly target: string
  readonly targetPort: number
}

const { bind, rules } = JSON.parse(process.argv[2] ?? '') as { bind: string[]; rules: HostedRule[] } // see rule-variants.ts
const native = loadNative()
if (!native.ok) throw new Error(native.reason)
const engine = native.openEngine({
  bind,
  threads: 1,
  onEvents(events) {
    for (const event of events) // answers like the agent's resolver for a name in the hosts file
      if (event.kind === 'resolve')
        engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'], freshMs: 2_000, usableMs: 60_000 })
  }
})
const meters = [1, 2, 3]
for (const id of meters)
  engine.setMeter(id, {
    bytesIn: null,
    bytesOut: null,
    connections: null,
    newConnections: null,
    refusals: { connections: 'limit', newConnections: 'limit', bytes: 'limit', budget: 'limit' }
  })

const ruleOf = ({ port, target, targetPort }: HostedRule, index: number): EngineRule => ({
  id: index + 1,
  owner: 'bench',
  protocol: 'tcp',
  from: port,
  to: port,
  targets: [{ host: target, port: targetPort }],
  preferIpv6: false,
  balance: null,
  idleMs: 0,
  unansweredMs: 10_000,
  name: null,
  fallback: false,
  probeMs: 0,
  meters,
  flowCap: 1024,
  reportEnds: false,
  dialFrom: null,
  firstRead: null,
  preamble: null,
  replyCap: null,
  diverts: [],
  source: null,
  target: [],
  addressGuards: [],
  sourceLimits: []
})
const all = rules.flatMap(rule =>
  Array.from({ length: rule.count ?? 1 }, (_, at) => ({ ...rule, port: rule.port + at }))
)
await Promise.all(all.map((rule, index) => engine.open(ruleOf(rule, index))))
process.stdout.write('ready\n')
