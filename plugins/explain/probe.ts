// Probes each target of a rule as a caller would reach it: DNS, filters, connect, TLS, first byte.
import { isIP } from 'node:net'
import type { AgentCall, EngineTarget, RulePath } from '../../agent/plugin.ts'
import type { Probe, ProbeResult } from './dial.ts'
import { dialTcp } from './dial-tcp.ts'
import { dialUdp } from './dial-udp.ts'
import { type Ask, type ProbedTarget, probeMs } from './wire.ts'

const lookUpMs = 1_500
const maxAddresses = 4 // per name

/** Probes the targets of a caller in parallel. Without a probe, checks the filters only and sends nothing. */
export function probeTargets(
  question: Ask,
  path: RulePath,
  targets: readonly EngineTarget[],
  call: AgentCall
): Promise<ProbedTarget[]> {
  const { port, probe: wanted } = question
  const { spec } = path
  const probe: Probe = {
    path,
    call,
    sni: serverNameFor(question, path),
    mayWrite: wanted === 'full',
    deadlineMs: call.clock.monotonic() + probeMs
  }
  return Promise.all(
    targets.map(async ({ host, port: first, dialer }, index) => {
      const target = { host, port: first + port - spec.from }
      if (dialer !== undefined) return { ...target, ...(await probeByDialer(index, question, probe)) }
      const seen = wanted === 'none' ? checkFilters(target, path) : await probeTarget(target, probe)
      return { ...target, ...seen }
    })
  )
}

/** Returns the TLS server name of the query, else the exact name of the rule; null: no TLS. */
export const serverNameFor = ({ sni }: Ask, { plan: { name } }: RulePath): string | null =>
  sni ?? (name === null || name.startsWith('*.') ? null : name)

interface HostPort {
  readonly host: string
  readonly port: number
}

function checkFilters({ host, port }: HostPort, { targetRefusal }: RulePath): ProbeResult {
  const refusal = isIP(host) === 0 ? null : targetRefusal(host, port, host)
  return refusal === null ? {} : { error: refusal }
}

const late = Symbol('late')

/** A target of another plugin: only that one knows its address. Probes the first port of a range. */
async function probeByDialer(
  index: number,
  { probe: wanted }: Ask,
  { path, call }: Probe
): Promise<ProbeResult> {
  if (wanted === 'none') return {}
  const begun = call.clock.monotonic()
  const probed = await within(probeMs, call.paths.probe(path.spec.id, index), call, late)
  if (probed === late) return { error: 'path_timeout' }
  if (probed === null) return { error: 'descriptors' } // or another resource of this host
  if (probed.failure !== null) return { error: probed.failure }
  const { address, timing } = probed.reached ?? {}
  return {
    ...(address !== undefined && { address }),
    dns_ms: timing?.dnsMs ?? 0,
    connect_ms: timing?.connectMs ?? call.clock.monotonic() - begun,
    ...(timing && { path_ms: timing.pathMs })
  }
}

async function probeTarget(target: HostPort, probe: Probe): Promise<ProbeResult> {
  const { host, port } = target
  const { path, call } = probe
  const begun = call.clock.monotonic()
  const answer = await within(lookUpMs, call.paths.resolve(host, path), call, null)
  const age = call.paths.ageMs(host)
  const lookUp: ProbeResult =
    isIP(host) === 0
      ? {
          dns_ms: call.clock.monotonic() - begun,
          ...(answer?.ok && age !== null && { dns_age_ms: age })
        }
      : {}
  if (!answer) return { ...lookUp, error: 'timeout' }
  if (!answer.ok) return { ...lookUp, error: answer.reason }
  const refusals = answer.addresses.map(address => path.targetRefusal(address, port, host))
  const allowed = answer.addresses.filter((_, index) => refusals[index] === null).slice(0, maxAddresses)
  const [first = host] = answer.addresses
  const refusal = refusals.find(reason => reason !== null)
  if (allowed.length === 0) return { ...lookUp, address: first, error: refusal ?? 'no_address' }
  const dial = path.spec.protocol === 'udp' ? dialUdp : dialTcp
  return { ...lookUp, ...(await dial(allowed, port, probe)) }
}

/** Returns `otherwise` if the work takes longer. */
function within<T, O>(ms: number, work: Promise<T>, { clock }: AgentCall, otherwise: O): Promise<T | O> {
  const { promise, resolve } = Promise.withResolvers<O>()
  const cancel = clock.after(ms, () => resolve(otherwise))
  return Promise.race([work.finally(cancel), promise])
}
