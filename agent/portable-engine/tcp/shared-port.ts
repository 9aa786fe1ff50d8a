// A port that several rules share. The TLS name that a caller asks for selects the rule.
import type { Socket } from 'node:net'
import { engineFault } from '../../engine.ts'
import type { EngineContext } from '../engine-context.ts'
import type { RuleState } from '../rule-state.ts'
import { type PeekOutcome, peekClientHello } from './peek.ts'
import { resetSocket } from './reset-socket.ts'

/** The most callers whose ClientHello is awaited at once. */
const maxPeeks = 1_024

/** A rule that takes the callers of a port. */
export interface Acceptor {
  readonly state: RuleState
  /** `serverName`: for which the caller's TLS has asked, or empty. */
  accept(caller: Socket, port: number, serverName: string): void
}

/** The key of the fallback among the acceptors. */
const fallbackName = ''
const nameOf = ({ state }: Acceptor): string => state.rule.name ?? fallbackName

export class SharedPort {
  readonly #port: number
  readonly #context: Pick<EngineContext, 'descriptors' | 'peeks'>
  readonly #acceptors = new Map<string, Acceptor>() // by name, oldest first
  readonly #peeking = new Set<Socket>()

  constructor(port: number, context: Pick<EngineContext, 'descriptors' | 'peeks'>) {
    this.#port = port
    this.#context = context
  }

  /** Throws an EngineFault when the name is taken. */
  join(acceptor: Acceptor): void {
    const name = nameOf(acceptor)
    if (this.#acceptors.has(name))
      throw engineFault('EADDRINUSE', `port ${this.#port} already has ${name || 'a fallback'}`)
    this.#acceptors.set(name, acceptor)
  }

  /** Returns how many are left. */
  leave(acceptor: Acceptor): number {
    this.#acceptors.delete(nameOf(acceptor))
    return this.#acceptors.size
  }

  async receive(caller: Socket): Promise<void> {
    caller.on('error', () => {}) // 'close' follows
    const fallback = this.#acceptors.get(fallbackName)
    if (fallback && this.#acceptors.size === 1) return fallback.accept(caller, this.#port, '')
    if (this.#peeking.size >= maxPeeks) return this.#refuse(caller, 'sni_overflow')
    if (!this.#context.descriptors.reserve(1)) return this.#refuse(caller, 'descriptors')
    const outcome = await this.#peek(caller)
    this.#context.descriptors.release(1) // before the connection reserves this one and that of its target
    this.#dispatch(caller, outcome)
  }

  /** Resets the callers whose ClientHello is still awaited; they belong to no rule yet. */
  resetPeeking(): void {
    for (const caller of this.#peeking) resetSocket(caller)
  }

  async #peek(caller: Socket): Promise<PeekOutcome> {
    const beganAt = performance.now()
    this.#peeking.add(caller)
    const outcome = await peekClientHello(caller)
    this.#peeking.delete(caller)
    if (outcome !== 'closed') this.#context.peeks.add(performance.now() - beganAt)
    return outcome
  }

  #dispatch(caller: Socket, outcome: PeekOutcome): void {
    if (outcome === 'closed') return
    const serverName = typeof outcome === 'object' ? outcome.name : ''
    const named = this.#find(serverName)
    const acceptor = outcome === 'ended' ? undefined : (named ?? this.#acceptors.get(fallbackName))
    if (outcome === 'timeout') this.#refuse(caller, 'sni_timeout')
    else if (acceptor) acceptor.accept(caller, this.#port, serverName)
    else this.#refuse(caller, 'sni_miss')
  }

  /** An exact name wins over a wildcard. */
  #find(name: string): Acceptor | undefined {
    return this.#acceptors.get(name) ?? this.#acceptors.get(name.replace(/^[^.]*/, '*'))
  }

  /** Unmatched callers count against the fallback, else against the oldest rule on the port. */
  #refuse(caller: Socket, reason: string): void {
    const [oldest] = this.#acceptors.values()
    const acceptor = this.#acceptors.get(fallbackName) ?? oldest
    acceptor?.state.countRejection(reason)
    resetSocket(caller)
  }
}
