// Connects to a rule's targets: health, DNS, filters, failover. Targets with a dialer are dialed by the agent.
import type { Socket } from 'node:net'
import type { DialCaller } from '../../engine/dial-request.ts'
import { canonicalAddress, interleave } from '../../net/address.ts'
import type { LiveTargetCounters } from '../live-counters.ts'
import type { DialFailure } from '../net/dial-failure.ts'
import type { RuleState } from '../rule-state.ts'
import type { TargetGroup } from '../target-group.ts'
import { type Attempt, reportFailure } from '../target-health.ts'
import { connectFirst } from './happy-eyeballs.ts'
import { openStreamPair, type PairedStream } from './stream-pair.ts'

/** A socket, or this engine's end of the connection to a dialer. */
export type TargetSocket = Socket | PairedStream

export interface ConnectedTarget {
  readonly socket: TargetSocket
  readonly index: number // in its group
  readonly counters: LiveTargetCounters
  readonly isFailover: boolean // after a failed dial to another target
  readonly host: string // as written in the rule
  readonly dialer: string | undefined
  readonly address: string
  readonly port: number
}

interface Dial {
  readonly targets: TargetGroup
  readonly listenPort: number
  readonly caller: DialCaller | null // null: a probe
  readonly signal: AbortSignal
}

type Outcome = Pick<ConnectedTarget, 'socket' | 'address' | 'port'> | Refused | DialFailure

/** All addresses of the target are refused by filters, or the dialer refuses. */
interface Refused {
  readonly refusal: string
}

/** Connects to the first target that accepts, and counts it as active. Else returns the refusal of this host; null: the targets refused. */
export async function connectTarget(
  state: RuleState,
  dial: Dial & { readonly caller: DialCaller }
): Promise<ConnectedTarget | { readonly refusal: string | null }> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of dial.targets.attempts(dial.caller.source.address)) {
    const { counters } = dial.targets.target(attempt.index, dial.listenPort)
    counters.active++
    const outcome = await dialTarget(attempt, state, dial)
    if ('socket' in outcome) return { ...outcome, isFailover }
    counters.active--
    if (dial.signal.aborted) return { refusal: null }
    if ('refusal' in outcome) refusal ??= outcome.refusal
    else {
      isFailover = true
      refusal ??= outcome.lack ?? null
    }
  }
  return { refusal }
}

/** Dials one target and reports the outcome to the attempt. */
export async function dialTarget(
  attempt: Attempt,
  state: RuleState,
  dial: Dial
): Promise<Omit<ConnectedTarget, 'isFailover'> | Refused | DialFailure> {
  const target = dial.targets.target(attempt.index, dial.listenPort)
  const outcome =
    target.dialer === undefined
      ? await dialHost(target, state, dial.signal)
      : await askDialer(target, state, dial)
  if ('socket' in outcome) attempt.succeeded()
  else if ('failure' in outcome) reportFailure(attempt, outcome)
  else attempt.abandoned()
  return 'socket' in outcome ? { ...target, ...outcome } : outcome
}

type Target = ReturnType<TargetGroup['target']>

async function dialHost(
  { host, port, counters }: Target,
  state: RuleState,
  signal: AbortSignal
): Promise<Outcome> {
  const addresses = await state.addressesOf(host, signal)
  if ('failure' in addresses) return addresses
  const { allowed, refusal } = state.allowedAddresses(addresses, port, host)
  if (allowed.length === 0 && refusal !== null) return { refusal }
  const { preferIpv6, dialFrom: from } = state.rule
  const { localPorts, share } = state
  const beganAt = performance.now()
  const order = interleave(allowed, preferIpv6 ? 'ipv6' : 'answer')
  const outcome = await connectFirst(order, { port, from, localPorts, share }, signal)
  return 'socket' in outcome ? connected(counters, beganAt, { ...outcome, port }) : outcome
}

/** A probe drops the other end: it shows only that the dialer reaches the target. */
async function askDialer(
  { index, offset, counters }: Target,
  { rule, askForDial }: RuleState,
  { caller, signal }: Dial
): Promise<Outcome> {
  const beganAt = performance.now()
  const answered = await askForDial({ ruleId: rule.id, target: index, offset, caller }, signal)
  if (answered === null) return { failure: null }
  const { answer, give } = answered
  if (!answer.ok) {
    give(null)
    return answer.isRefusal ? { refusal: answer.reason } : { failure: answer.reason }
  }
  const [socket, other] = openStreamPair()
  give(caller && other)
  return connected(counters, beganAt, {
    socket,
    address: canonicalAddress(answer.address),
    port: answer.port
  })
}

function connected<T>(counters: LiveTargetCounters, beganAt: number, outcome: T): T {
  counters.connects++
  counters.connectMs += performance.now() - beganAt
  return outcome
}
