// Connects datagram sockets to a rule's targets: health, DNS, filters, failover.
import { isIP } from 'node:net'
import { familyOf, interleave } from '../../net/address.ts'
import type { LiveTargetCounters } from '../live-counters.ts'
import { type DialFailure, failureOf, lackOf } from '../net/dial-failure.ts'
import type { RuleState } from '../rule-state.ts'
import type { TargetGroup } from '../target-group.ts'
import { type Attempt, reportFailure } from '../target-health.ts'
import type { AvoidedAddresses } from './avoided-addresses.ts'
import { connectSocket, type SocketAddress, type SocketHandlers, type UdpSocket } from './udp-socket.ts'

export interface ConnectedUdpTarget extends SocketAddress {
  readonly socket: UdpSocket
  readonly index: number // in its group
  readonly counters: LiveTargetCounters
  readonly host: string // as written in the rule
  readonly attempt: Attempt // succeeds with the target's first reply
  readonly isFailover: boolean
}

/** The part of a UDP rule that its dials need. */
export interface UdpDialRule {
  readonly state: RuleState
  readonly avoided: AvoidedAddresses
}

interface UdpDial {
  readonly rule: UdpDialRule
  readonly targets: TargetGroup
  readonly listenPort: number
  readonly source: string // of the caller
  readonly handlers: SocketHandlers
  readonly signal: AbortSignal
}

/** A dial for a flow without an answer from its target. */
interface UdpRedial extends UdpDial {
  readonly silent: Pick<ConnectedUdpTarget, 'index' | 'address'>
  readonly tried: Set<number> // targets that the flow has dialed, for rules with a balance
  /** Called before the first socket is opened: names have been resolved. */
  onConnecting(): void
}

interface Refused extends DialFailure {
  readonly refusal: string | null // by this host; null: the targets refused
}

/** Connects to the first target with a route, and counts it as active. Else returns the refusal. */
export async function connectUdpTarget(
  dial: UdpDial
): Promise<ConnectedUdpTarget | Pick<Refused, 'refusal'>> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of dial.targets.attempts(dial.source)) {
    const outcome = await attemptTarget(dial, attempt, null)
    if ('socket' in outcome) return { ...outcome, isFailover }
    if (dial.signal.aborted) break
    refusal ??= outcome.refusal
    isFailover ||= outcome.failure !== null
  }
  return { refusal }
}

/**
 * Connects to an address that the name of the silent target has got since, else to the next target, else to another
 * address of the name. Returns null, without opening a socket, if there is none of them.
 */
export async function redialUdpTarget(redial: UdpRedial): Promise<ConnectedUdpTarget | null> {
  const { targets, silent, signal, source, tried } = redial
  const addresses = await namedAddresses(redial)
  const at = addresses.indexOf(silent.address)
  const rest = at < 0 ? [] : [...addresses.slice(at + 1), ...addresses.slice(0, at)]
  const dialOwn = (order: readonly string[]) =>
    attemptTarget(redial, targets.health.attempt(silent.index), order)
  function* dials() {
    if (at < 0 && addresses.length > 0) yield () => dialOwn(addresses)
    for (const attempt of targets.attemptsAfter(silent.index, source, tried))
      yield () => attemptTarget(redial, attempt, null)
    if (rest.length > 0) yield () => dialOwn(rest)
  }
  for (const dial of dials()) {
    const outcome = await dial()
    if ('socket' in outcome) return { ...outcome, isFailover: true }
    if (signal.aborted) break
  }
  return null
}

/** Returns the current addresses of the silent target's name in dial order; none for a target without a name. */
async function namedAddresses({
  rule,
  targets,
  listenPort,
  silent,
  signal
}: UdpRedial): Promise<readonly string[]> {
  const { host, port } = targets.target(silent.index, listenPort)
  if (isIP(host) !== 0) return []
  const answer = await rule.state.addressesOf(host, signal)
  return 'failure' in answer ? [] : dialOrder(rule, answer, port)
}

/** Dials these addresses of a target; null: all. */
async function attemptTarget(
  dial: UdpDial & { onConnecting?(): void },
  attempt: Attempt,
  addresses: readonly string[] | null
): Promise<Omit<ConnectedUdpTarget, 'isFailover'> | Refused> {
  const target = dial.targets.target(attempt.index, dial.listenPort)
  target.counters.active++
  const outcome = await dialHost(dial, target, addresses)
  if ('socket' in outcome) return { ...target, ...outcome, attempt }
  target.counters.active--
  if (dial.signal.aborted) attempt.abandoned()
  else reportFailure(attempt, outcome)
  return outcome
}

const errorOf = (error: NodeJS.ErrnoException) => error

async function dialHost(
  { rule, handlers, signal, onConnecting }: UdpDial & { onConnecting?(): void },
  { host, port }: { readonly host: string; readonly port: number },
  addresses: readonly string[] | null
): Promise<Pick<ConnectedUdpTarget, 'socket' | 'address'> | Refused> {
  const { state } = rule
  const answer = addresses ?? (await state.addressesOf(host, signal))
  if ('failure' in answer) return { ...answer, refusal: null }

  const { allowed, refusal } = state.allowedAddresses(addresses ?? dialOrder(rule, answer, port), port, host)
  let failure: string | null = null
  let lack: string | null = null
  for (const address of allowed) {
    if (signal.aborted) break
    onConnecting?.()
    const from = state.rule.dialFrom?.[familyOf(address)] ?? null
    const socket = await connectSocket({ address, port }, from, handlers).catch(errorOf)
    if (!(socket instanceof Error)) return { socket, address }
    failure ??= failureOf(socket)
    lack ??= lackOf(socket)
  }
  return { refusal: refusal ?? lack, failure }
}

/** Addresses with a recent ICMP error or without an answer come last: a flow learns this too late. */
const dialOrder = (
  { state, avoided }: UdpDialRule,
  answer: readonly string[],
  port: number
): readonly string[] => avoided.moveLast(interleave(answer, state.rule.preferIpv6 ? 'ipv6' : 'answer'), port)
