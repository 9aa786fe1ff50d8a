// From a rule's targets to a connected datagram socket: names, filters, failover.
import { isIP } from 'node:net'
import { canonicalAddress, interleave } from '../../net/address.ts'
import type { Tally } from '../counters.ts'
import type { Attempt } from '../target-health.ts'
import { reasonOf } from '../tcp/happy-eyeballs.ts'
import type { Flow } from './udp-flow.ts'
import type { UdpGate } from './udp-rule.ts'
import { connectSocket, type Datagrams, type Handlers, type Place } from './udp-socket.ts'

export interface ReachedByUdp extends Place {
  readonly socket: Datagrams
  readonly target: Tally['targets'][number]
  readonly host: string // as the target names it
  readonly attempt: Attempt // its end is not known before the target has answered
  readonly isFailover: boolean
}

export interface Unreached {
  readonly refusal: string | null
}

/** The first target that there is a way to; else why its addresses were refused, or null when there is none. */
export async function reachByUdp(
  gate: UdpGate,
  flow: Flow,
  handlers: Handlers
): Promise<ReachedByUdp | Unreached> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of gate.health.attempts()) {
    const tried = await reachTarget(gate, flow, attempt.index, handlers)
    if ('socket' in tried) return { ...tried, attempt, isFailover }

    if (tried.failure === null || flow.isOver) attempt.abandoned()
    else attempt.failed(tried.failure)
    if (flow.isOver) break
    refusal ??= tried.refusal
    isFailover ||= tried.failure !== null
  }
  return { refusal }
}

/** `failure` null: what was in the way, a filter or our own trouble, says nothing about the target. */
type Tried = Omit<ReachedByUdp, 'attempt' | 'isFailover'> | (Unreached & { readonly failure: string | null })

async function reachTarget(gate: UdpGate, flow: Flow, index: number, handlers: Handlers): Promise<Tried> {
  const { from, targets } = gate.rule
  const target = gate.tally.targets[index]
  const { host, port: firstPort } = targets[index] ?? {}
  if (!target || host === undefined || firstPort === undefined)
    throw new TypeError(`target ${index} is not of this rule`)
  const port = firstPort + flow.port.port - from
  const answer = await addressesOf(host, gate, flow)
  if (typeof answer === 'string') return { refusal: null, failure: answer }

  let refusal: string | null = null
  let failure: string | null = null
  for (const address of inOrder(answer, port, gate)) {
    if (flow.isOver) break
    const why = gate.targetRefusal({ address, port, host })
    refusal ??= why
    if (why !== null) continue
    const socket = await connectSocket({ address, port }, handlers).catch(reasonOf)
    if (socket !== null && typeof socket !== 'string') return { socket, target, host, address, port }
    failure ??= socket
  }
  return { refusal, failure }
}

/** A string says why there are none. */
async function addressesOf(host: string, gate: UdpGate, flow: Flow): Promise<readonly string[] | string> {
  if (isIP(host) !== 0) return [canonicalAddress(host)]
  const answer = await Promise.race([gate.resolve(host), flow.left])
  if (answer === null) return []
  if (answer.ok) return answer.addresses.map(canonicalAddress)
  gate.dnsFailed(host, answer.reason)
  return answer.reason
}

/** As TCP would dial them; but who has just refused comes last, since only a datagram finds that out. */
const inOrder = (
  addresses: readonly string[],
  port: number,
  { rule, refusals }: UdpGate
): readonly string[] => refusals.last(interleave(addresses, rule.preferIpv6 ? 'ipv6' : 'answer'), port)
