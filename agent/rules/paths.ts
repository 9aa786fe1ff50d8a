// The path of a caller through a rule as the engine evaluates it, for the plugin that explains it.
import type { Engine } from '../engine/engine.ts'
import type { FirstRead } from '../engine/first-read.ts'
import { canonicalAddress, dialedAddress, familyOf, interleave, isOwnAddress } from '../net/address.ts'
import { parsePrefixes } from '../net/address-prefix.ts'
import { compileFilters } from '../net/compile-filters.ts'
import type { Resolver } from '../resolver/resolver.ts'
import type { AgentPaths, RuleSpec } from './contract.ts'
import type { Plan } from './planner.ts'
import { openTargetProbes } from './probe-target.ts'
import type { TargetDials } from './target-dials.ts'

interface Options {
  readonly rules: {
    running(
      ruleId: string
    ): { readonly spec: RuleSpec; readonly plan: Plan; readonly engineId: number | null } | undefined
    listens(protocol: Plan['protocol'], port: number): boolean
  }
  readonly engine: Pick<Engine, 'reserveDescriptor' | 'guardRefusal' | 'divertOf'>
  readonly dials: Pick<TargetDials, 'probe'>
  readonly resolver: Resolver
  readonly bind: readonly string[]
  readonly mayProbeIdle: () => boolean
}

export function openPaths({ rules, engine, dials, resolver, bind, mayProbeIdle }: Options): AgentPaths {
  const bound = bind.map(canonicalAddress)
  const [first = '127.0.0.1'] = bound
  const isLoop = (protocol: Plan['protocol'], address: string, port: number): boolean =>
    isOwnAddress(bound, address) && rules.listens(protocol, port)

  const probeTarget = openTargetProbes()

  async function resolve(host: string, { spec, plan }: { readonly spec: RuleSpec; readonly plan: Plan }) {
    const answer = await resolver.resolve(host, spec.owner)
    if (!answer.ok) return answer
    return { ...answer, addresses: interleave(answer.addresses, plan.preferIpv6 ? 'ipv6' : 'answer') }
  }

  return {
    find(ruleId) {
      const running = rules.running(ruleId)
      if (!running) return undefined
      const { spec, plan, engineId } = running
      const { source, target } = compileFilters(plan)
      return {
        spec,
        plan,
        sourceRefusal(address, port) {
          const canonical = canonicalAddress(address)
          return plan.firstRead ? senderRefusal(plan.firstRead, canonical) : source(canonical, port, null)
        },
        guardRefusal: address =>
          engineId === null ? null : engine.guardRefusal(engineId, canonicalAddress(address)),
        divert(address) {
          const name = engineId === null ? null : engine.divertOf(engineId, canonicalAddress(address))
          return plan.diverts.find(divert => divert.name === name) ?? null
        },
        targetRefusal(address, port, host) {
          const canonical = canonicalAddress(address)
          return isLoop(plan.protocol, canonical, port) ? 'loop' : target(canonical, port, host)
        }
      }
    },
    resolve,
    async probe(ruleId, target = 0) {
      const running = rules.running(ruleId)
      if (running?.plan.protocol !== 'tcp') return null
      return probeTarget(running.plan, target, {
        resolve: host => resolve(host, running),
        isLoop: (address, port) => isLoop('tcp', address, port),
        dial: limitMs => dials.probe(running, target, limitMs)
      })
    },
    reserveDescriptor: ({ spec: { owner } }) => engine.reserveDescriptor(owner),
    mayProbeIdle,
    ageMs: host => resolver.ageMs?.(host) ?? null,
    ownAddress: dialedAddress(first)
  }
}

function senderRefusal({ from, refusals }: FirstRead, address: string): string | null {
  const isSender = parsePrefixes(from).check(address, familyOf(address))
  return isSender ? null : refusals.untrusted
}
