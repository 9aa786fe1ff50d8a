// Where callers come in: a rule has its ports alone, or shares one with others by their names.
import type { Socket } from 'node:net'
import type { Ground, Host } from '../engine-context.ts'
import { fault } from '../engine-fault.ts'
import { openSharedPort, type SharedPort } from './shared-port.ts'
import { listenEverywhere } from './tcp-listener.ts'

export interface Entrances {
  /** Gives the call that shuts it for this host: nobody comes in after that. */
  open(host: Host): Promise<() => void>
}

type Range = Pick<Host['rule'], 'from' | 'to'>

interface Shared {
  readonly port: SharedPort
  readonly opened: Promise<() => void>
}

export function openEntrances(ground: Ground): Entrances {
  const shared = new Map<number, Shared>()

  async function listen({ from, to }: Range, onCaller: (caller: Socket, port: number) => void) {
    const { bind, descriptors, ownPorts } = ground
    const listeners = (to - from + 1) * bind.length
    if (!descriptors.take(listeners)) throw fault('EMFILE', `port ${from}: too few descriptors are left`)
    const shut = await listenEverywhere({ from, to }, bind, onCaller).catch(error => {
      descriptors.give(listeners)
      throw error
    })
    ownPorts.join(from, to)
    return () => {
      shut()
      ownPorts.leave(from, to)
      descriptors.give(listeners)
    }
  }

  function share(from: number): Shared {
    const known = shared.get(from)
    if (known) return known
    const port = openSharedPort(from, ground)
    const opened = listen({ from, to: from }, caller => void port.receive(caller))
    const fresh = { port, opened }
    shared.set(from, fresh)
    return fresh
  }

  function leave(host: Host, { port, opened }: Shared): void {
    if (port.leave(host) > 0) return
    shared.delete(host.rule.from)
    port.resetAwaited()
    void opened.then(
      shut => shut(),
      () => {}
    ) // who opened it has been told
  }

  async function openShared(host: Host): Promise<() => void> {
    const place = share(host.rule.from)
    place.port.join(host)
    try {
      await place.opened
    } catch (error) {
      leave(host, place)
      throw error
    }
    return () => leave(host, place)
  }

  return {
    open(host) {
      const { name, fallback } = host.rule
      if (name !== null || fallback) return openShared(host)
      return listen(host.rule, (caller, port) => host.meet(caller, port))
    }
  }
}
