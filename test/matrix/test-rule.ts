// A rule with live targets and its callers; both ends count bytes.
import type { Test } from 'tap'
import { clientHello } from '../engine/client-hellos.ts'
import { freePort } from '../support/ports.ts'
import { type Caller, dial, openTarget, type Target } from './callers.ts'
import type { RuleKind } from './rule-kinds.ts'
import type { World } from './world.ts'

export interface RuleSpec {
  readonly kind: RuleKind
  readonly owner: string
  readonly listenPort: number
  readonly rateLimit?: object | null
  /** TLS server name of the rule and its callers, if the kind has one. */
  readonly serverName?: ServerName
  /** A target with precedence over the live one. */
  readonly firstTarget?: { readonly host: string; readonly port: number } | null
}

export interface TestRule {
  readonly ruleId: string
  readonly kind: RuleKind
  readonly owner: string
  readonly listenPort: number
  readonly targets: readonly Target[]
  readonly callers: readonly Caller[]
  dial(): Caller
  /** Bytes that the targets received. */
  received(): number
  /** Bytes that the callers got back. */
  echoed(): number
  refused(): number
}

type ServerName = 'one.example' | 'other.example'

const clientHellos = new Map<ServerName, Promise<Buffer>>()

/** Returns OpenSSL's ClientHello for a server name; generated once per name. */
function clientHelloFor(name: ServerName): Promise<Buffer> {
  const cached = clientHellos.get(name) ?? clientHello({ servername: name })
  clientHellos.set(name, cached)
  return cached
}

/** Starts the targets and creates the rule. */
export async function createRule(t: Test, world: World, spec: RuleSpec): Promise<TestRule> {
  const { kind, owner, listenPort, serverName = 'one.example' } = spec
  const { protocol, portCount, hasServerName } = kind
  const targetPort = await freePort(portCount)
  const ports = Array.from({ length: portCount }, (_, i) => targetPort + i)
  const targets = await Promise.all(ports.map(port => openTarget(t, protocol, port)))
  const ruleId = await postRule(world, spec, targetPort)
  const hello = hasServerName ? await clientHelloFor(serverName) : Buffer.alloc(0)
  const callers: Caller[] = []
  return {
    ruleId,
    kind,
    owner,
    listenPort,
    targets,
    callers,
    dial() {
      const caller = dial(t, protocol, listenPort + (callers.length % portCount), hello)
      callers.push(caller)
      return caller
    },
    received: () => sum(targets.map(({ received }) => received())),
    echoed: () => sum(callers.map(({ received }) => received())),
    refused: () => sum(callers.map(({ refused }) => refused()))
  }
}

async function postRule({ call }: World, spec: RuleSpec, targetPort: number): Promise<string> {
  const { kind, owner, listenPort, rateLimit = null, serverName = 'one.example', firstTarget = null } = spec
  const live = { host: '127.0.0.1', port: targetPort }
  const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'paris',
    owner,
    protocol: kind.protocol,
    listen_port: listenPort,
    ...(kind.portCount > 1 && { listen_port_end: listenPort + kind.portCount - 1 }),
    targets: firstTarget ? [firstTarget, live] : [live],
    ...(kind.hasServerName && { sni_pattern: serverName }),
    ...(rateLimit && { rate_limit: rateLimit }),
    ...kind.extraFields
  })
  return rule_id
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
