// Dials targets for callers of other agents, as the engine does for its callers.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Engine, Filter } from '../engine/engine.ts'
import { canonicalAddress, interleave, isOwnAddress } from '../net/address.ts'
import { compileFilter, type FilterCheck } from '../net/compile-filters.ts'
import { LocalPorts } from '../portable-engine/net/local-ports.ts'
import { connectFirst, type Route } from '../portable-engine/tcp/happy-eyeballs.ts'
import type { Resolver } from '../resolver/resolver.ts'
import { aborted } from './aborted.ts'
import type { AgentDial, AgentDialed } from './dial-contract.ts'
import type { Guardrails } from './guardrails.ts'
import type { Plan } from './planner.ts'

interface Options {
  readonly engine: Pick<Engine, 'reserveDescriptor'>
  readonly resolver: Resolver
  readonly rules: { listens(protocol: Plan['protocol'], port: number): boolean }
  readonly bind: readonly string[]
  readonly guardrails: () => Guardrails
  readonly clock: Pick<Clock, 'after'>
}

const limitMs = 4_000

export function openAgentDial({ engine, resolver, rules, bind, guardrails, clock }: Options): AgentDial {
  const bound = bind.map(canonicalAddress)
  const localPorts = new LocalPorts()
  const checkOf = openFilterChecks()

  return async (
    { host, port },
    { owner, preferIpv6, dialFrom = null, loopPorts = [], filters = [], signal }
  ) => {
    const limit = new AbortController()
    const release = clock.after(limitMs, () => limit.abort())
    const ended = AbortSignal.any([signal, limit.signal])
    /** The failure of a dial that was aborted. */
    const abortedAs = (failure: string): AgentDialed =>
      signal.aborted ? refused('canceled') : { failure, isRefusal: false }
    try {
      const beganAt = performance.now()
      const answer = await Promise.race([resolver.resolve(host, owner), aborted(ended)])
      if (answer === null) return abortedAs('dns_timeout')
      if (!answer.ok) return { failure: `dns_${answer.reason}`, isRefusal: answer.reason === 'overloaded' }
      const dnsMs = performance.now() - beganAt

      const isLoop = (address: string): boolean =>
        (loopPorts.includes(port) || rules.listens('tcp', port)) && isOwnAddress(bound, address)
      const ofAgent = checkOf(guardrails().filter)
      const ofCaller = filters.map(checkOf)
      const refusalOf = (address: string): string | null => {
        if (isLoop(address)) return 'loop'
        if (ofAgent(address, port, host) !== null) return 'denied_by_exit'
        const check = ofCaller.find(refuses => refuses(address, port, host) !== null)
        return check?.(address, port, host) ?? null
      }
      const addresses = answer.addresses.map(canonicalAddress)
      const [first] = addresses
      if (first === undefined) return { failure: 'dns_no_address', isRefusal: false }
      const allowed = addresses.filter(address => refusalOf(address) === null)
      if (allowed.length === 0) return refused(refusalOf(first) ?? 'denied_by_exit')

      const releaseDescriptor = engine.reserveDescriptor(owner)
      if (!releaseDescriptor) return refused('descriptors')
      const route = { port, from: dialFrom, localPorts, share: furtherDescriptors(engine, owner) }
      const connectAt = performance.now()
      const outcome = await connectFirst(interleave(allowed, preferIpv6 ? 'ipv6' : 'answer'), route, ended)
      if ('socket' in outcome) {
        const { socket, address } = outcome
        socket.once('close', releaseDescriptor)
        return { socket, address, dnsMs, connectMs: performance.now() - connectAt }
      }
      releaseDescriptor()
      if (ended.aborted) return abortedAs('timeout')
      return outcome.failure === null
        ? refused(outcome.lack ?? 'descriptors')
        : { failure: outcome.failure, isRefusal: false }
    } finally {
      void release()
    }
  }
}

const refused = (failure: string): AgentDialed => ({ failure, isRefusal: true })

/** Compiles each filter once. Guardrails change only at a reload. */
function openFilterChecks(): (filter: Filter) => FilterCheck {
  const checks = new WeakMap<Filter, FilterCheck>()
  return filter => {
    const check = checks.get(filter) ?? compileFilter(filter)
    checks.set(filter, check)
    return check
  }
}

/** Reserves one descriptor for each attempt beside the first one. */
function furtherDescriptors(engine: Pick<Engine, 'reserveDescriptor'>, owner: string): Route['share'] {
  const releases: (() => void)[] = []
  return {
    reserveOwn() {
      const release = engine.reserveDescriptor(owner)
      if (release) releases.push(release)
      return release !== null
    },
    release(count) {
      for (const release of releases.splice(0, count)) release()
    }
  }
}
