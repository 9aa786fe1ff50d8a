// The TCP listeners of an engine: a rule has its ports alone, or shares one port with other rules by name.
import { engineFault } from '../../engine/engine-fault.ts'
import type { EngineContext } from '../engine-context.ts'
import { type Acceptor, SharedPort } from './shared-port.ts'
import { listenTcp, type PortRange, type TcpPort } from './tcp-port.ts'

/** A port or range with the rules that have it. */
interface Group extends PortRange {
  readonly callers: SharedPort
  readonly opened: Promise<void>
  readonly ports: Map<number, TcpPort> // those that another group has not taken over
  isWhole: boolean // none is
}

const keyOf = ({ from, to }: PortRange): string => `${from}-${to}`

export class Listeners {
  readonly #context: EngineContext
  readonly #groups = new Map<string, Group>()

  constructor(context: EngineContext) {
    this.#context = context
  }

  /**
   * Returns a function that shuts the rule's ports, or removes its name from the shared one. `replaced` gives it the ports
   * and the name that both have.
   */
  async open(acceptor: Acceptor, replaced: Acceptor | null): Promise<() => void> {
    const key = keyOf(acceptor.state.rule)
    const group = this.#groups.get(key) ?? this.#newGroup(acceptor.state.rule, replaced)
    if (!group.isWhole)
      throw engineFault('EADDRINUSE', `port ${group.from} to ${group.to}: some are taken over`)
    group.callers.join(acceptor, replaced)
    this.#groups.set(key, group)
    try {
      await group.opened
    } catch (error) {
      this.#leave(acceptor, group)
      throw error
    }
    return () => this.#leave(acceptor, group)
  }

  #newGroup({ from, to }: PortRange, replaced: Acceptor | null): Group {
    const callers = new SharedPort(from, this.#context)
    const ports = new Map<number, TcpPort>()
    const opened = this.#listen({ from, to, callers, ports }, replaced)
    return { from, to, callers, ports, opened, isWhole: true }
  }

  /** Removes the rule; the last one shuts the ports. */
  #leave(acceptor: Acceptor, group: Group): void {
    if (!group.callers.leave(acceptor) || !group.callers.isEmpty) return
    this.#groups.delete(keyOf(group))
    group.callers.resetWaiting()
    const onFailed = () => {} // every `open` has thrown it
    void group.opened.then(() => this.#shut(group), onFailed)
  }

  #shut({ from, to, ports }: Group): void {
    for (const port of ports.values()) port.close()
    this.#context.ownPorts.remove(from, to)
    this.#context.descriptors.release(this.#descriptorsOf({ from, to }))
  }

  /** Takes over the ports that only the replaced rule has, once all others listen. */
  async #listen(
    { from, to, callers, ports }: Omit<Group, 'opened' | 'isWhole'>,
    replaced: Acceptor | null
  ): Promise<void> {
    const { bind, descriptors, ownPorts } = this.#context
    const old = replaced && this.#groups.get(keyOf(replaced.state.rule))
    const offered = replaced && old?.callers.isOnly(replaced) ? old.ports : new Map<number, TcpPort>()
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
    const count = this.#descriptorsOf({ from, to })
    if (!descriptors.reserve(count))
      throw engineFault('EMFILE', `port ${from}: not enough file descriptors are left`)
    const onCaller: TcpPort['onCaller'] = (...caller) => void callers.receive(...caller)
    const missing = numbers.filter(number => !offered.has(number))
    const listening = await listenTcp(missing, bind, onCaller).catch(error => {
      descriptors.release(count)
      throw error
    })
    for (const number of numbers) {
      const taken = offered.get(number)
      offered.delete(number)
      if (taken) taken.onCaller = onCaller
      if (taken && old) old.isWhole = false
      const port = taken ?? listening.get(number)
      if (port) ports.set(number, port)
    }
    ownPorts.add(from, to)
  }

  #descriptorsOf = ({ from, to }: PortRange): number => (to - from + 1) * this.#context.bind.length
}
