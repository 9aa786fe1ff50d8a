// A port or range of one rule, or a port that several rules share: the TLS name that a caller asks for selects the rule.
import type { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { networkOf } from '../../../kernel/platform/network.ts'
import { engineFault } from '../../engine/engine-fault.ts'
import { FairEviction } from '../../net/fair-eviction.ts'
import type { EngineContext } from '../engine-context.ts'
import type { RuleState } from '../rule-state.ts'
import type { SenderCheck } from '../sender-check.ts'
import { type Caller, callerOf } from './caller.ts'
import { reportCaller } from './connection.ts'
import { peekClientHello, readProxyHeader } from './first-bytes.ts'
import { resetSocket } from './reset-socket.ts'

/** The most callers that can wait for their header or ClientHello to be read. Beyond it, a network with the most loses its oldest. */
const maxWaiting = 1_024

/** A rule that takes the callers of a port. */
export interface Acceptor {
  readonly state: RuleState
  accept(caller: Caller, port: number): void
}

/** The key of the rule without a name among the acceptors. */
const fallbackName = ''
const nameOf = ({ state }: Acceptor): string => state.rule.name ?? fallbackName
const mayShare = ({ state: { rule } }: Acceptor): boolean => rule.name !== null || rule.fallback

/** Why a caller is refused; null: it has reset its connection. */
interface Refused {
  readonly caller: Caller
  readonly refusal: string | null
}

/** A caller that is not assigned to a rule yet. */
interface WaitingCaller {
  readonly socket: Socket
  readonly network: string
  readonly drop: () => void
}

export class SharedPort {
  readonly #port: number
  readonly #context: Pick<EngineContext, 'descriptors' | 'peeks'>
  readonly #acceptors = new Map<string, Acceptor>() // by name, oldest first
  readonly #waiting = new FairEviction<WaitingCaller>(maxWaiting, ({ network }) => network)

  constructor(port: number, context: Pick<EngineContext, 'descriptors' | 'peeks'>) {
    this.#port = port
    this.#context = context
  }

  /**
   * Replaces `replaced` with the rule, or adds the rule. Throws an EngineFault if the port or the name is taken, or if its
   * first read differs from that of the other rules.
   */
  join(acceptor: Acceptor, replaced: Acceptor | null): void {
    const name = nameOf(acceptor)
    const others = [...this.#acceptors.values()].filter(other => other !== replaced)
    const isTaken = others.some(other => nameOf(other) === name || !mayShare(other) || !mayShare(acceptor))
    if (isTaken) throw engineFault('EADDRINUSE', `port ${this.#port} already has ${name || 'such a rule'}`)
    const { rule } = acceptor.state
    if (others.some(other => !isDeepStrictEqual(rule.firstRead, other.state.rule.firstRead)))
      throw engineFault(
        'EINVAL',
        `port ${this.#port} is shared: all its rules need the same proxies in front (proxy_in, firstRead)`
      )
    if (replaced) this.leave(replaced)
    this.#acceptors.set(name, acceptor)
  }

  /** Returns false if the rule has left before, or was replaced. */
  leave(acceptor: Acceptor): boolean {
    const name = nameOf(acceptor)
    return this.#acceptors.get(name) === acceptor && this.#acceptors.delete(name)
  }

  get isEmpty(): boolean {
    return this.#acceptors.size === 0
  }

  /** True if no other rule has the port. */
  isOnly(acceptor: Acceptor): boolean {
    return this.#acceptors.size === 1 && this.#acceptors.get(nameOf(acceptor)) === acceptor
  }

  async receive(socket: Socket, port: number): Promise<void> {
    socket.on('error', () => {}) // 'close' follows
    const firstRead = this.#unmatched?.state.firstRead
    const only = this.#only
    const caller = callerOf(socket)
    if (!firstRead && only) return only.accept(caller, port)
    if (firstRead && !firstRead.trusts(caller.source.address))
      return this.#fail({ caller, refusal: firstRead.refusals.untrusted })
    if (!firstRead && this.#isDenied(caller)) return this.#dispatch(caller, port)
    const waiting = this.#reserveWaiting()
    if ('refusal' in waiting) return this.#refuse({ caller, refusal: waiting.refusal })
    const found = await this.#identify(caller, firstRead)
    waiting.release() // before the connection reserves this one and that of its target
    if ('refusal' in found) this.#fail(found)
    else this.#dispatch(found, port)
  }

  /** Reserves the descriptor of a waiting caller. It counts for nobody if the port has several owners. */
  #reserveWaiting(): { readonly release: () => void } | { readonly refusal: string } {
    const { descriptors } = this.#context
    const [share, ...others] = new Set([...this.#acceptors.values()].map(({ state }) => state.share))
    const isCommon = share && others.length === 0
    const refusal = isCommon ? share.reserve(1) : descriptors.reserve(1) ? null : 'descriptors'
    if (refusal !== null) return { refusal }
    return { release: () => (isCommon ? share : descriptors).release(1) }
  }

  /** Resets the waiting callers. */
  resetWaiting(): void {
    for (const { socket } of this.#waiting.all()) resetSocket(socket)
  }

  /** Returns true if every rule of the port refuses this source, so that it cannot fill the waiting places. */
  #isDenied({ source: { address, port } }: Caller): boolean {
    return [...this.#acceptors.values()].every(({ state }) => state.sourceRefusal(address, port) !== null)
  }

  /** The rule without a name, if it is the only rule. */
  get #only(): Acceptor | undefined {
    return this.#acceptors.size === 1 ? this.#acceptors.get(fallbackName) : undefined
  }

  /** The rule that counts callers without a match: the one without a name, else the oldest. */
  get #unmatched(): Acceptor | undefined {
    const [oldest] = this.#acceptors.values()
    return this.#acceptors.get(fallbackName) ?? oldest
  }

  async #identify(sender: Caller, firstRead: SenderCheck | null | undefined): Promise<Caller | Refused> {
    const header = firstRead?.refusals.header
    const caller = header ? await this.#wait(sender, header, this.#readHeader(sender, header)) : sender
    if ('refusal' in caller || this.#only || this.#isDenied(caller)) return caller
    return this.#wait(caller, 'sni_overflow', this.#readName(caller))
  }

  /** Waits for the result. Refuses the caller if another one needs its place. */
  async #wait(caller: Caller, refusal: string, result: Promise<Caller | Refused>): Promise<Caller | Refused> {
    const dropped = Promise.withResolvers<Refused>()
    const waiting: WaitingCaller = {
      socket: caller.socket,
      network: networkOf(caller.source.address),
      drop: () => dropped.resolve({ caller, refusal })
    }
    this.#waiting.add(waiting)
    const surplus = this.#waiting.surplus(waiting, 'oldest')
    if (surplus) {
      this.#waiting.delete(surplus)
      surplus.drop()
    }
    const outcome = await Promise.race([result, dropped.promise])
    this.#waiting.delete(waiting)
    return outcome
  }

  async #readHeader(sender: Caller, refusal: string): Promise<Caller | Refused> {
    const header = await readProxyHeader(sender.socket)
    if (header === 'closed') return { caller: sender, refusal: null }
    if (typeof header === 'string' || 'ended' in header || header.kind !== 'right')
      return { caller: sender, refusal }
    if (!header.named) return sender
    return { ...sender, source: header.named.caller, destination: header.named.destination }
  }

  async #readName(caller: Caller): Promise<Caller | Refused> {
    const beganAt = performance.now()
    const outcome = await peekClientHello(caller.socket)
    if (outcome === 'closed') return { caller, refusal: null }
    this.#context.peeks.add(performance.now() - beganAt)
    const early = typeof outcome === 'object' && 'ended' in outcome ? outcome.ended : null
    const isCut = outcome === 'timeout' || early !== null
    if (isCut && !this.#acceptors.has(fallbackName))
      return { caller, refusal: early ? 'sni_miss' : 'sni_timeout' }
    return {
      ...caller,
      early,
      serverName: typeof outcome === 'object' && 'name' in outcome ? outcome.name : ''
    }
  }

  #dispatch(caller: Caller, port: number): void {
    const named = this.#find(caller.serverName) ?? this.#acceptors.get(fallbackName)
    const acceptor = this.#isDenied(caller) ? this.#unmatched : named // which refuses it
    if (acceptor) acceptor.accept(caller, port)
    else this.#fail({ caller, refusal: 'sni_miss' })
  }

  /** An exact name wins over a wildcard. */
  #find(name: string): Acceptor | undefined {
    return this.#acceptors.get(name) ?? this.#acceptors.get(name.replace(/^[^.]*/, '*'))
  }

  /** Called if the caller's handshake failed, or the caller is gone. */
  #fail(refused: Refused): void {
    const { caller, refusal } = refused
    if (refusal !== null) this.#unmatched?.state.handshakeFailed(caller.source.address)
    this.#refuse(refused)
  }

  #refuse({ caller, refusal }: Refused): void {
    const state = this.#unmatched?.state
    if (refusal !== null) state?.countRejection(refusal)
    if (state) reportCaller(state, caller, refusal === null ? 'caller_reset' : 'refused', refusal)
    resetSocket(caller.socket)
  }
}
