// From a rule's targets to a connected socket: health, names, filters, failover.
import { isIP, type Socket } from 'node:net'
import { canonicalAddress, interleave } from '../../net/address.ts'
import type { Attempt } from '../target-health.ts'
import { dial, type Loss } from './happy-eyeballs.ts'
import type { Gate } from './tcp-rule.ts'

export interface Reached {
  readonly socket: Socket
  readonly index: number // of the target
  readonly isFailover: boolean // not the first that was dialled
  readonly host: string // as the target names it
  readonly address: string
  readonly port: number
}

/** All its addresses are refused. */
interface Refused {
  readonly refusal: string
}

/** The first target that answers; else why its addresses were refused, or null when none answered. */
export async function reach(
  gate: Gate,
  listenPort: number,
  signal: AbortSignal
): Promise<Reached | { readonly refusal: string | null }> {
  let refusal: string | null = null
  let isFailover = false
  for (const attempt of gate.health.attempts()) {
    const outcome = await tryOne(attempt, gate, listenPort, signal)
    if ('socket' in outcome) return { ...outcome, isFailover }
    if (signal.aborted) return { refusal: null }
    if ('refusal' in outcome) refusal ??= outcome.refusal
    else isFailover = true
  }
  return { refusal }
}

/** How it went is said to the attempt. */
export async function tryOne(
  { index, ...attempt }: Attempt,
  gate: Gate,
  listenPort: number,
  signal: AbortSignal
): Promise<Omit<Reached, 'isFailover'> | Refused | Loss> {
  const { host, port: firstPort } = gate.targetAt(index)
  const port = firstPort + listenPort - gate.rule.from
  const outcome = await dialOne(host, port, gate, signal)
  if ('socket' in outcome) attempt.succeeded()
  else if ('failure' in outcome && outcome.failure !== null) attempt.failed(outcome.failure)
  else attempt.abandoned()
  return 'socket' in outcome ? { ...outcome, index, host, port } : outcome
}

async function dialOne(host: string, port: number, gate: Gate, signal: AbortSignal) {
  const addresses = await addressesOf(host, gate, signal)
  if ('failure' in addresses) return addresses
  let refusal: string | null = null
  const allowed: string[] = []
  for (const address of addresses) {
    const why = gate.targetRefusal(address, port, host)
    if (why === null) allowed.push(address)
    else refusal ??= why
  }
  if (allowed.length === 0 && refusal !== null) return { refusal }
  return dial(interleave(allowed, gate.rule.preferIpv6 ? 'ipv6' : 'answer'), port, signal)
}

async function addressesOf(host: string, gate: Gate, signal: AbortSignal): Promise<readonly string[] | Loss> {
  if (isIP(host) !== 0) return [canonicalAddress(host)]
  const { promise: left, resolve: leave } = Promise.withResolvers<null>()
  const abandon = () => leave(null)
  signal.addEventListener('abort', abandon)
  const answer = await Promise.race([gate.resolve(host), left])
  signal.removeEventListener('abort', abandon)

  if (answer === null) return { failure: null }
  if (answer.ok) return answer.addresses.map(canonicalAddress)
  gate.dnsFailed(host, answer.reason)
  return { failure: answer.reason }
}
