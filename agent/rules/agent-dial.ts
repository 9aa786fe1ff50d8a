// Dials targets for callers of other agents, as the engine dials those of its own callers.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Engine, Filter } from '../engine/engine.ts'
import { canonicalAddress, interleave, isOwnAddress } from '../net/address.ts'
import { type CompiledFilters, compileFilters } from '../net/compile-filters.ts'
import { LocalPorts } from '../portable-engine/net/local-ports.ts'
import { connectFirst, type Route } from '../portable-engine/tcp/happy-eyeballs.ts'
import type { Resolver } from '../resolver/resolver.ts'
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
  const judge = openJudge()

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
      const check = judge(guardrails().filter)
      const { target: ownCheck } = compileFilters({ source: null, target: filters })
      const refusalOf = (address: string): string | null => {
        if (isLoop(address)) return 'loop'
        return check(address, port, host) === null ? ownCheck(address, port, host) : 'denied_by_exit'
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

/** Compiles a filter once: guardrails change only at a reload. */
function openJudge(): (filter: Filter) => CompiledFilters['target'] {
  let last: { readonly filter: Filter; readonly check: CompiledFilters['target'] } | null = null
  return filter => {
    if (last?.filter !== filter)
      last = { filter, check: compileFilters({ source: null, target: [filter] }).target }
    return last.check
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

function aborted(signal: AbortSignal): Promise<null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  if (signal.aborted) resolve(null)
  signal.addEventListener('abort', () => resolve(null), { once: true })
  return promise
}
