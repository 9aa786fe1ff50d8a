// A port that rules share: callers are told apart by the TLS name that they ask for.
import type { Socket } from 'node:net'
import { reject } from '../counters.ts'
import type { Ground, Host } from '../engine-context.ts'
import { fault } from '../engine-fault.ts'
import { peekHello } from './peek.ts'
import { reset } from './relay.ts'

const maxPeeks = 1_024

/** A rule goes by its name; by this when it is the fallback. */
const fallbackKey = ''
const keyOf = ({ rule }: Host): string => rule.name ?? fallbackKey

export interface SharedPort {
  /** Throws an EngineFault when the name is taken. */
  join(host: Host): void
  /** Gives how many are left. */
  leave(host: Host): number
  receive(caller: Socket): Promise<void>
  /** Those whose name is awaited belong to nobody. */
  resetAwaited(): void
}

export function openSharedPort(port: number, { descriptors, peeks }: Ground): SharedPort {
  const hosts = new Map<string, Host>() // oldest first
  const awaited = new Set<Socket>()

  const find = (name: string) => hosts.get(name) ?? hosts.get(name.replace(/^[^.]*/, '*'))
  /** Who belongs to no rule is counted by the one that takes what is left, or has the port for the longest. */
  const refuse = (caller: Socket, reason: string) => {
    const [oldest] = hosts.values()
    const host = hosts.get(fallbackKey) ?? oldest
    if (host) reject(host.tally, reason)
    reset(caller)
  }
  const peek = async (caller: Socket) => {
    const since = performance.now()
    awaited.add(caller)
    const peeked = await peekHello(caller)
    awaited.delete(caller)
    if (peeked !== 'gone') peeks.add(performance.now() - since)
    return peeked
  }
  const direct = async (caller: Socket) => {
    const peeked = await peek(caller)
    if (peeked === 'gone') return
    if (peeked === 'late') return refuse(caller, 'sni_timeout')
    if (peeked === 'ended') return refuse(caller, 'sni_miss')
    const named = typeof peeked === 'object' ? find(peeked.name) : undefined
    const host = named ?? hosts.get(fallbackKey)
    if (host) host.meet(caller, port)
    else refuse(caller, 'sni_miss')
  }

  return {
    join(host) {
      const key = keyOf(host)
      if (hosts.has(key)) throw fault('EADDRINUSE', `port ${port} has ${key || 'a fallback'} already`)
      hosts.set(key, host)
    },
    leave(host) {
      hosts.delete(keyOf(host))
      return hosts.size
    },
    async receive(caller) {
      caller.on('error', () => {}) // 'close' follows
      const fallback = hosts.get(fallbackKey)
      if (fallback && hosts.size === 1) return fallback.meet(caller, port)
      if (awaited.size >= maxPeeks) return refuse(caller, 'sni_overflow')
      if (!descriptors.take(1)) return refuse(caller, 'descriptors')
      await direct(caller)
      descriptors.give(1)
    },
    resetAwaited() {
      for (const caller of awaited) reset(caller)
    }
  }
}
