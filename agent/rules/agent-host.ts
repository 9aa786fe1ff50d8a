// The host of an agent, for plugins that listen and dial beside the engine. The guardrails hold for them, too.
import { isIP } from 'node:net'
import { Refused } from '../../kernel/wire/message.ts'
import type { Engine, Filter, Resolved } from '../engine/engine.ts'
import { canonicalAddress } from '../net/address.ts'
import { compileFilters } from '../net/compile-filters.ts'
import type { Resolver } from '../resolver/resolver.ts'
import type { Guardrails } from './guardrails.ts'

/** A reload can change what the guardrails allow. */
export interface AgentHost {
  readonly stateDir: string
  readonly bind: readonly string[] // local addresses of every listener
  /** Looks a name up like that of a target. Never rejects. */
  resolve(host: string): Promise<Resolved>
  /** Returns false if `allow_ports` denies the port. */
  mayListen(port: number): boolean
  /** Returns false if `deny_targets` or `deny_local_ports` deny the address of a peer. `allow_targets` is about targets. */
  mayDial(address: string, port: number, host: string): boolean
  /**
   * Returns false if the host of the target is an address that the guardrails deny at one of the ports. Names are checked when
   * they are dialed.
   */
  mayReach(host: string, from: number, to: number): boolean
  /** Reserves a descriptor in the share of the owner; null: none is left. Call the result once. */
  reserveDescriptor(owner: string): (() => void) | null
}

interface Options {
  readonly stateDir: string
  readonly bind: readonly string[]
  readonly resolver: Resolver
  readonly guardrails: () => Guardrails
  readonly engine: Pick<Engine, 'reserveDescriptor'>
}

export function openAgentHost({ stateDir, bind, resolver, guardrails, engine }: Options): AgentHost {
  const checkOf = (filter: Filter) => compileFilters({ source: null, target: [filter] }).target
  return {
    stateDir,
    bind,
    resolve: host => resolver.resolve(host, ''),
    mayListen(port) {
      try {
        guardrails().admit({ from: port, to: port, targets: [] })
        return true
      } catch (error) {
        if (error instanceof Refused) return false
        throw error
      }
    },
    mayDial(address, port, host) {
      const check = checkOf({ ...guardrails().filter, allow: null })
      return check(canonicalAddress(address), port, host) === null
    },
    mayReach(host, from, to) {
      if (isIP(host) === 0) return true
      const check = checkOf(guardrails().filter)
      const address = canonicalAddress(host)
      for (let port = from; port <= to; port++) if (check(address, port, null) !== null) return false
      return true
    },
    reserveDescriptor: owner => engine.reserveDescriptor(owner)
  }
}
