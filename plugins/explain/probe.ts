// Goes the way of a caller to each target of a rule: look-up, filters, connect, TLS, first byte.
import { isIP } from 'node:net'
import type { AgentCall, RulePath } from '../../agent/plugin.ts'
import type { Probe, Seen } from './dial.ts'
import { dialTcp } from './dial-tcp.ts'
import { dialUdp } from './dial-udp.ts'
import { type Ask, type ProbedTarget, probeMs } from './wire.ts'

const lookUpMs = 1_500
const maxAddresses = 4 // of a name

/** Probes all targets at once; without a probe returns what is known of them without sending anything. */
export function probeTargets(question: Ask, path: RulePath, call: AgentCall): Promise<ProbedTarget[]> {
  const { port, probe: wanted } = question
  const { spec, plan } = path
  const probe: Probe = {
    ...{ path, call, sni: serverNameOf(question, path), mayWrite: wanted === 'full' },
    untilMs: call.clock.monotonic() + probeMs
  }
  return Promise.all(
    plan.targets.map(async ({ host, port: first }) => {
      const target = { host, port: first + port - spec.from }
      const seen = wanted === 'none' ? known(target, path) : await probeTarget(target, probe)
      return { ...target, ...seen }
    })
  )
}

/** Returns the TLS server name for which a caller asks: that of the question, else the exact one of the rule; null: no TLS. */
export const serverNameOf = ({ sni }: Ask, { plan: { name } }: RulePath): string | null =>
  sni ?? (name === null || name.startsWith('*.') ? null : name)

interface Place {
  readonly host: string
  readonly port: number
}

function known({ host, port }: Place, { targetRefusal }: RulePath): Seen {
  const refusal = isIP(host) === 0 ? null : targetRefusal(host, port, host)
  return refusal === null ? {} : { error: refusal }
}

async function probeTarget(target: Place, probe: Probe): Promise<Seen> {
  const { host, port } = target
  const { path, call } = probe
  const begun = call.clock.monotonic()
  const answer = await within(lookUpMs, call.paths.resolve(host, path.plan), call)
  const age = call.paths.ageMs(host)
  const lookUp: Seen =
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

/** Returns null where the work takes longer. */
function within<T>(ms: number, work: Promise<T>, { clock }: AgentCall): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const cancel = clock.after(ms, () => resolve(null))
  return Promise.race([work.finally(cancel), promise])
}
