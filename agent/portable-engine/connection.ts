// The story of one connection: it waits in the lobby, reaches a target, is relayed, ends.
import type { Socket } from 'node:net'
import type { Gate } from './gate.ts'
import { type Early, enterLobby } from './lobby.ts'
import { type Reached, reach } from './reach.ts'
import { longestTimerMs, relay, reset } from './relay.ts'
import { reject, type Tally } from './tally.ts'

const dialMs = 30_000

export class Connection {
  readonly #caller: Socket
  readonly #port: Tally['ports'][number]
  readonly #gate: Gate
  readonly #leaving = new AbortController()
  #reached: Reached | null = null

  constructor(caller: Socket, port: Tally['ports'][number], gate: Gate) {
    this.#caller = caller
    this.#port = port
    this.#gate = gate
  }

  /** Resolves when both sockets are closed: no byte is counted after that. */
  async carry(): Promise<void> {
    const callerClosed = closing(this.#caller)
    const leave = () => this.#leaving.abort()
    const limit = setTimeout(leave, dialMs)
    const lobby = enterLobby(this.#caller, leave)

    const outcome = await reach(this.#gate, this.#port.port, this.#leaving.signal)

    clearTimeout(limit)
    const early = lobby.leave()
    if ('refusal' in outcome) this.#refuse(outcome.refusal)
    else await this.#begin(outcome, early)
    await callerClosed
  }

  /** The filters have changed. A dial is judged again when it has succeeded. */
  judge(): void {
    const refusal = this.#refusal()
    if (refusal !== null) this.#refuse(refusal)
  }

  cut(): void {
    this.#leaving.abort()
    reset(this.#caller)
    if (this.#reached) reset(this.#reached.socket)
  }

  #begin(reached: Reached, early: Early): Promise<void> {
    const { socket, index } = reached
    const closed = closing(socket)
    this.#reached = reached
    const refusal = this.#refusal()
    if (this.#leaving.signal.aborted || refusal !== null) this.#refuse(refusal)
    else this.#relay(socket, index, early)
    return closed
  }

  #relay(socket: Socket, index: number, early: Early): void {
    const { rule, tally } = this.#gate
    const port = this.#port
    const target = tally.targets[index]
    if (!target) throw new TypeError(`target ${index} is not of this rule`)
    target.connectionsTotal++
    if (index > 0) tally.targetFailovers++
    // Whatever passes touches the caller's socket, so its silence is the connection's.
    if (rule.idleMs > 0) this.#caller.setTimeout(Math.min(rule.idleMs, longestTimerMs), () => this.cut())
    relay(this.#caller, socket, early, {
      in(bytes) {
        port.bytesIn += bytes
        target.bytesIn += bytes
      },
      out(bytes) {
        port.bytesOut += bytes
        target.bytesOut += bytes
      }
    })
  }

  #refusal(): string | null {
    const { address, port, host } = this.#reached ?? {}
    const source = this.#gate.sourceRefusal(this.#caller)
    if (source !== null || address === undefined || port === undefined || host === undefined) return source
    return this.#gate.targetRefusal(address, port, host)
  }

  #refuse(reason: string | null): void {
    if (reason !== null && !this.#leaving.signal.aborted) reject(this.#gate.tally, reason)
    this.cut()
  }
}

const closing = (socket: Socket): Promise<void> =>
  new Promise(resolve => socket.once('close', () => resolve()))
