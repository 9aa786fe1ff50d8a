// From a rule's targets to a connected socket: names, filters, failover.
import { isIP, type Socket } from 'node:net'
import { canonical, interleave } from './address.ts'
import { dial } from './dial.ts'
import type { Gate } from './gate.ts'

export interface Reached {
  readonly socket: Socket
  readonly index: number // of the target
  readonly host: string // as the target names it
  readonly address: string
  readonly port: number
}

/** The first target that answers; else why its addresses were refused, or null when none answered. */
export async function reach(
  gate: Gate,
  listenPort: number,
  signal: AbortSignal
): Promise<Reached | { readonly refusal: string | null }> {
  const { from, targets, preferIpv6 } = gate.rule
  let refusal: string | null = null
  for (const [index, { host, port: firstPort }] of targets.entries()) {
    const port = firstPort + listenPort - from
    const allowed: string[] = []
    for (const address of await addressesOf(host, gate, signal)) {
      const why = gate.targetRefusal(address, port, host)
      if (why === null) allowed.push(address)
      else refusal ??= why
    }
    const winner = await dial(interleave(allowed, preferIpv6 ? 'ipv6' : 'answer'), port, signal)
    if (winner) return { ...winner, index, host, port }
    if (signal.aborted) return { refusal: null }
  }
  return { refusal }
}

async function addressesOf(host: string, gate: Gate, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [canonical(host)]
  const { promise: left, resolve: leave } = Promise.withResolvers<null>()
  const abandon = () => leave(null)
  signal.addEventListener('abort', abandon)
  const answer = await Promise.race([gate.resolve(host), left])
  signal.removeEventListener('abort', abandon)

  if (answer === null) return []
  if (answer.ok) return answer.addresses.map(canonical)
  gate.dnsFailed(host, answer.reason)
  return []
}
