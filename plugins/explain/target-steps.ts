import type { ExplainStep } from '../../agent/plugin.ts'
import type { Ask, ProbedTarget } from './wire.ts'

/** Target errors that still let a caller connect. */
const harmless = ['target_closed', 'certificate_name', 'tls_failed']

const isReached = ({ error }: ProbedTarget): boolean => error === undefined || harmless.includes(error)

/** Returns a step per target. The first reachable target accepts the caller; if there is none, the last one stops it. */
export function targetSteps(targets: readonly ProbedTarget[], { probe }: Pick<Ask, 'probe'>): ExplainStep[] {
  const first = targets.findIndex(isReached)
  if (probe === 'none' && first >= 0) return []
  return targets.map((target, index) => {
    const isStop = first < 0 && index === targets.length - 1
    const verdict = isStop ? 'stop' : isReached(target) && probe !== 'none' ? 'pass' : 'info'
    const reason = target.error ?? 'connected'
    return { kind: 'target', id: nameOf(target), verdict, reason, text: textOf(target) }
  })
}

export const nameOf = ({ host, port }: Pick<ProbedTarget, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

const texts: Readonly<Record<string, string>> = {
  nxdomain: 'its name does not exist',
  servfail: 'no DNS server answers for its name',
  timeout: 'no DNS server answered for its name in time',
  no_address: 'its name has no address',
  overloaded: 'too many names of the same owner wait for DNS',
  connect_refused: 'it refuses connections: nothing listens there',
  connect_timeout: 'it does not answer: packets are dropped, or the host is down',
  unreachable: 'there is no route to it',
  source_unavailable: 'the address to dial from is not on this host',
  denied_by_agent: "the agent's guardrails do not allow this address (deny_targets, allow_targets)",
  target_denied: "the grants of the rule's owner do not allow this address",
  path_timeout: 'the clients on its path have not answered in time',
  loop: 'it is a listener of this agent itself',
  descriptors: 'the agent has no file descriptors left',
  target_closed: 'it closes the connection at once',
  certificate_name: 'its certificate is for another name',
  tls_failed: 'it does not complete a TLS handshake'
}

function textOf(target: ProbedTarget): string {
  const { error, address, dns_age_ms, connect_ms, first_byte_ms, tls_name } = target
  const where = address === undefined || address === target.host ? '' : ` (${address}${ageOf(dns_age_ms)})`
  const name = `${nameOf(target)}${where}`
  if (error !== undefined) {
    const shown = tls_name === undefined ? '' : `: ${tls_name}`
    return `${name}: ${texts[error] ?? error}${shown}`
  }
  const byte =
    first_byte_ms === undefined ? 'and it sends nothing on its own' : `first byte after ${ms(first_byte_ms)}`
  return connect_ms === undefined
    ? `${name}: a datagram was sent, ${byte}`
    : `${name}: connected in ${ms(connect_ms)}, ${byte}`
}

const ms = (value: number): string => `${Math.round(value * 10) / 10} ms`
const ageOf = (age: number | undefined): string =>
  age === undefined ? '' : `, looked up ${Math.round(age / 1000)} s ago`
