// Connects to a rule's targets: health, DNS, filters, failover.
import type { Socket } from 'node:net'
import { interleave } from '../../net/address.ts'
import type { LiveTargetCounters } from '../live-counters.ts'
import type { DialFailure } from '../net/dial-failure.ts'
import type { RuleState } from '../rule-state.ts'
import { type Attempt, reportFailure } from '../target-health.ts'
import { connectFirst } from './happy-eyeballs.ts'

export interface ConnectedTarget {
  readonly socket: Socket
  readonly index: number // in the rule's targets
  readonly counters: LiveTargetCounters
  readonly isFailover: boolean // after a failed dial to another target
  readonly host: string // as written in the rule
  readonly address: string
  readonly port: number
}

/** Connects to the first target that accepts, and counts it as active. Else returns the refusal of this host; null: the targets refused. */
export async function connectTarget(
  state: RuleState,
  listenPort: number,
  source: string,
  signal: AbortSignal
): Promise<ConnectedTarget | { readonly refusal: string | null }> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of state.attempts(source)) {
    const { counters } = state.target(attempt.index, listenPort)
    counters.active++
    const outcome = await dialTarget(attempt, state, listenPort, signal)
    if ('socket' in outcome) return { ...outcome, isFailover }
    counters.active--
    if (signal.aborted) return { refusal: null }
    if ('refusal' in outcome) refusal ??= outcome.refusal
    else {
      isFailover = true
      refusal ??= outcome.lack ?? null
    }
  }
  return { refusal }
}

/** Dials one target and reports the outcome to the attempt. `refusal`: filters deny all its addresses. */
export async function dialTarget(
  attempt: Attempt,
  state: RuleState,
  listenPort: number,
  signal: AbortSignal
): Promise<Omit<ConnectedTarget, 'isFailover'> | { readonly refusal: string } | DialFailure> {
  const target = state.target(attempt.index, listenPort)
  const outcome = await dialHost(target, state, signal)
  if ('socket' in outcome) attempt.succeeded()
  else if ('failure' in outcome) reportFailure(attempt, outcome)
  else attempt.abandoned()
  return 'socket' in outcome ? { ...target, ...outcome } : outcome
}

async function dialHost(
  { host, port, counters }: ReturnType<RuleState['target']>,
  state: RuleState,
  signal: AbortSignal
) {
  const addresses = await state.addressesOf(host, signal)
  if ('failure' in addresses) return addresses
  const { allowed, refusal } = state.allowedAddresses(addresses, port, host)
  if (allowed.length === 0 && refusal !== null) return { refusal }
  const { preferIpv6, dialFrom: from } = state.rule
  const { localPorts, share } = state
  const beganAt = performance.now()
  const order = interleave(allowed, preferIpv6 ? 'ipv6' : 'answer')
  const outcome = await connectFirst(order, { port, from, localPorts, share }, signal)
  if ('socket' in outcome) {
    counters.connects++
    counters.connectMs += performance.now() - beganAt
  }
  return outcome
}
