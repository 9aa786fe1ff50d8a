// The TCP listeners of an engine: a rule has its ports alone, or shares one port with other rules by name.
import type { Socket } from 'node:net'
import { engineFault } from '../../engine.ts'
import type { EngineContext } from '../engine-context.ts'
import { type Acceptor, SharedPort } from './shared-port.ts'
import { listenTcp, type PortRange } from './tcp-listener.ts'

interface SharedListener {
  readonly port: SharedPort
  readonly opened: Promise<() => void>
}

export class Listeners {
  readonly #context: EngineContext
  readonly #shared = new Map<number, SharedListener>() // by port

  constructor(context: EngineContext) {
    this.#context = context
  }

  /** Returns a function that shuts the rule's ports, or removes its name from the shared one. */
  async open(acceptor: Acceptor): Promise<() => void> {
    const { name, fallback } = acceptor.state.rule
    if (name !== null || fallback) return this.#openShared(acceptor)
    const port = new SharedPort(acceptor.state.rule.from, this.#context)
    port.join(acceptor)
    const shut = await this.#listen(acceptor.state.rule, (...caller) => void port.receive(...caller))
    return () => {
      shut()
      port.leave(acceptor)
      port.resetWaiting()
    }
  }

  async #openShared(acceptor: Acceptor): Promise<() => void> {
    const listener = this.#sharedListener(acceptor.state.rule.from)
    listener.port.join(acceptor)
    try {
      await listener.opened
    } catch (error) {
      this.#leave(acceptor, listener)
      throw error
    }
    return () => this.#leave(acceptor, listener)
  }

  #sharedListener(number: number): SharedListener {
    const existing = this.#shared.get(number)
    if (existing) return existing
    const port = new SharedPort(number, this.#context)
    const opened = this.#listen({ from: number, to: number }, (...caller) => void port.receive(...caller))
    const listener = { port, opened }
    this.#shared.set(number, listener)
    return listener
  }

  /** Removes the rule; the last one shuts the port. */
  #leave(acceptor: Acceptor, { port, opened }: SharedListener): void {
    if (port.leave(acceptor) > 0) return
    this.#shared.delete(acceptor.state.rule.from)
    port.resetWaiting()
    const onFailed = () => {} // every `#openShared` has thrown it
    void opened.then(shut => shut(), onFailed)
  }

  async #listen(
    { from, to }: PortRange,
    onCaller: (caller: Socket, port: number) => void
  ): Promise<() => void> {
    const { bind, descriptors, ownPorts } = this.#context
    const count = (to - from + 1) * bind.length
    if (!descriptors.reserve(count))
      throw engineFault('EMFILE', `port ${from}: not enough file descriptors are left`)
    const shut = await listenTcp({ from, to }, bind, onCaller).catch(error => {
      descriptors.release(count)
      throw error
    })
    ownPorts.add(from, to)
    return () => {
      shut()
      ownPorts.remove(from, to)
      descriptors.release(count)
    }
  }
}
