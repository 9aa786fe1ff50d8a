// Connects to a target of a rule without a caller, to see whether callers would reach it.
import type { Resolved } from '../engine/engine.ts'
import { canonicalAddress } from '../net/address.ts'
import { compileFilters } from '../net/compile-filters.ts'
import { LocalPorts } from '../portable-engine/net/local-ports.ts'
import { connectFirst, type Route } from '../portable-engine/tcp/happy-eyeballs.ts'
import { endProbe } from '../portable-engine/tcp/health-probes.ts'
import { aborted } from './aborted.ts'
import type { TargetProbe } from './contract.ts'
import type { Plan } from './planner.ts'
import type { ProbedDial } from './target-dials.ts'

const limitMs = 5_000
const maxFurtherAttempts = 16 // at other addresses of names, of all probes: a quarter of the descriptors that are spare

interface Options {
  /** Returns the addresses of the host in dial order. */
  readonly resolve: (host: string) => Promise<Resolved>
  readonly isLoop: (address: string, port: number) => boolean
  /** Lets the target's dialer dial. */
  readonly dial: (limitMs: number) => Promise<ProbedDial>
}

export type ProbeTarget = (plan: Plan, target: number, options: Options) => Promise<TargetProbe | null>

/** Refusals that say nothing about the target: its dialer lacks something. */
const lacks = ['descriptors', 'owner_share', 'no_memory', 'no_local_port', 'no_dialer']

/** Returns a function that probes as the engine dials: same names, filters, source addresses and staggered attempts. */
export function openTargetProbes(): ProbeTarget {
  const localPorts = new LocalPorts()
  let free = maxFurtherAttempts
  const share: Route['share'] = {
    reserveOwn() {
      if (free === 0) return false
      free--
      return true
    },
    release(count) {
      free += count
    }
  }

  return async (plan, index, { resolve, isLoop, dial }) => {
    const target = plan.targets[index]
    if (!target) return null
    const { host, port, dialer } = target
    if (dialer !== undefined) {
      const { failure, isRefusal, reached } = await dial(limitMs)
      return isRefusal && lacks.includes(failure ?? '') ? null : { failure, ...(reached && { reached }) }
    }
    const signal = AbortSignal.timeout(limitMs)
    const answer = await Promise.race([resolve(host), aborted(signal)])
    if (answer === null) return { failure: 'dns_timeout' }
    if (!answer.ok) return answer.reason === 'overloaded' ? null : { failure: `dns_${answer.reason}` }

    const { target: targetRefusal } = compileFilters({ source: null, target: plan.target })
    const refusalOf = (address: string) =>
      isLoop(address, port) ? 'loop' : targetRefusal(address, port, host)
    const addresses = answer.addresses.map(canonicalAddress)
    const allowed = addresses.filter(address => refusalOf(address) === null)
    const [first] = addresses
    if (first === undefined) return { failure: 'dns_no_address' }
    if (allowed.length === 0) return { failure: refusalOf(first) }

    const outcome = await connectFirst(allowed, { port, from: plan.dialFrom, localPorts, share }, signal)
    if ('socket' in outcome) {
      endProbe(outcome.socket, plan.preamble)
      return { failure: null }
    }
    if (signal.aborted) return { failure: 'timeout' }
    return outcome.failure === null ? null : { failure: outcome.failure }
  }
}
