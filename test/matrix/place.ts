// A rule with live targets, and whoever calls it: both of its ends count.
import type { Test } from 'tap'
import { clientHello } from '../engine/client-hellos.ts'
import { freePort } from '../support/ports.ts'
import { type Caller, dial, openTarget, type Target } from './callers.ts'
import type { Kind } from './kinds.ts'
import type { World } from './world.ts'

export interface Spot {
  readonly kind: Kind
  readonly owner: string
  readonly listenPort: number
  readonly caps?: object | null
  /** Of a named kind. */
  readonly name?: Name
  /** A target before the live one. */
  readonly first?: { readonly host: string; readonly port: number } | null
}

export interface Placed {
  readonly ruleId: string
  readonly kind: Kind
  readonly owner: string
  readonly listenPort: number
  readonly targets: readonly Target[]
  readonly callers: readonly Caller[]
  dial(): Caller
  received(): number
  heard(): number
  refused(): number
}

type Name = 'one.example' | 'other.example'

const hellos = new Map<Name, Promise<Buffer>>()

/** What OpenSSL says first; made once. */
function helloFor(name: Name): Promise<Buffer> {
  const known = hellos.get(name) ?? clientHello({ servername: name })
  hellos.set(name, known)
  return known
}

export async function place(t: Test, world: World, spot: Spot): Promise<Placed> {
  const { kind, owner, listenPort, name = 'one.example' } = spot
  const { protocol, width, isNamed } = kind
  const targetPort = await freePort(width)
  const ports = Array.from({ length: width }, (_, i) => targetPort + i)
  const targets = await Promise.all(ports.map(port => openTarget(t, protocol, port)))
  const ruleId = await make(world, spot, targetPort)
  const hello = isNamed ? await helloFor(name) : Buffer.alloc(0)
  const callers: Caller[] = []
  return {
    ruleId,
    kind,
    owner,
    listenPort,
    targets,
    callers,
    dial() {
      const caller = dial(t, protocol, listenPort + (callers.length % width), hello)
      callers.push(caller)
      return caller
    },
    received: () => sum(targets.map(({ received }) => received())),
    heard: () => sum(callers.map(({ heard }) => heard())),
    refused: () => sum(callers.map(({ refused }) => refused()))
  }
}

async function make({ call }: World, spot: Spot, targetPort: number): Promise<string> {
  const { kind, owner, listenPort, caps = null, name = 'one.example', first = null } = spot
  const live = { host: '127.0.0.1', port: targetPort }
  const { rule_id } = await call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'paris',
    owner,
    protocol: kind.protocol,
    listen_port: listenPort,
    ...(kind.width > 1 && { listen_port_end: listenPort + kind.width - 1 }),
    targets: first ? [first, live] : [live],
    ...(kind.isNamed && { sni_pattern: name }),
    ...(caps && { rate_limit: caps }),
    ...kind.more
  })
  return rule_id
}

const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0)
