// Connects datagram sockets to a rule's targets: health, DNS, filters, failover.
import { familyOf, interleave } from '../../net/address.ts'
import type { LiveTargetCounters } from '../live-counters.ts'
import { failureOf, lackOf } from '../net/dial-failure.ts'
import type { RuleState } from '../rule-state.ts'
import type { Attempt } from '../target-health.ts'
import { connectSocket, type SocketAddress, type SocketHandlers, type UdpSocket } from './udp-socket.ts'
import type { UnreachableAddresses } from './unreachable-addresses.ts'

export interface ConnectedUdpTarget extends SocketAddress {
  readonly socket: UdpSocket
  readonly index: number // in the rule's targets
  readonly counters: LiveTargetCounters
  readonly host: string // as written in the rule
  readonly attempt: Attempt // succeeds with the target's first reply
  readonly isFailover: boolean
}

/** The part of a UDP rule that its dials need. */
export interface UdpDialRule {
  readonly state: RuleState
  readonly unreachable: UnreachableAddresses
}

/** Connects to the first target with a route, and counts it as active. Else returns the refusal of this host; null: the targets refused. */
export async function connectUdpTarget(
  rule: UdpDialRule,
  listenPort: number,
  source: string,
  handlers: SocketHandlers,
  signal: AbortSignal
): Promise<ConnectedUdpTarget | { readonly refusal: string | null }> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of rule.state.attempts(source)) {
    const target = rule.state.target(attempt.index, listenPort)
    target.counters.active++
    const outcome = await dialHost(target.host, target.port, rule, handlers, signal)
    if ('socket' in outcome) return { ...target, ...outcome, attempt, isFailover }
    target.counters.active--

    if (outcome.failure === null || signal.aborted) attempt.abandoned()
    else attempt.failed(outcome.failure)
    if (signal.aborted) break
    refusal ??= outcome.refusal
    isFailover ||= outcome.failure !== null
  }
  return { refusal }
}

const errorOf = (error: NodeJS.ErrnoException) => error

/** Returns a socket, or the first `refusal` by this host and the `failure`; null: not the target's fault. */
async function dialHost(
  host: string,
  port: number,
  { state, unreachable }: UdpDialRule,
  handlers: SocketHandlers,
  signal: AbortSignal
) {
  const answer = await state.addressesOf(host, signal)
  if ('failure' in answer) return { refusal: null, failure: answer.failure }

  // Addresses with a recent ICMP error come last: a flow cannot fail over later.
  const order = unreachable.moveLast(interleave(answer, state.rule.preferIpv6 ? 'ipv6' : 'answer'), port)
  const { allowed, refusal } = state.allowedAddresses(order, port, host)
  let failure: string | null = null
  let lack: string | null = null
  for (const address of allowed) {
    if (signal.aborted) break
    const from = state.rule.dialFrom?.[familyOf(address)] ?? null
    const socket = await connectSocket({ address, port }, from, handlers).catch(errorOf)
    if (!(socket instanceof Error)) return { socket, address }
    failure ??= failureOf(socket)
    lack ??= lackOf(socket)
  }
  return { refusal: refusal ?? lack, failure }
}
